// The start of a page: read its data, then draw it, or show an error.

import { type ComponentType, render } from "preact";
import { load, type Payload } from "../data/payload.ts";

/** Reads the data of the page and draws it with the component App. */
export async function start<Head>(App: ComponentType<{ payload: Payload<Head> }>): Promise<void> {
  const root = document.getElementById("app");
  if (!root) return;
  try {
    const payload = await load<Head>();
    root.textContent = "";
    render(<App payload={payload} />, root);
    requestAnimationFrame(() => document.documentElement.setAttribute("data-drawn", String(performance.now())));
  } catch (problem) {
    root.textContent = "";
    render(<Problem text={problem instanceof Error ? problem.message : String(problem)} />, root);
    throw problem;
  }
}

function Problem({ text }: { text: string }) {
  return (
    <main class="state">
      <h1>This page cannot be shown</h1>
      <p>{text}</p>
      <p>
        <code>seismo report FILE</code> shows the same recording in a terminal.
      </p>
    </main>
  );
}
