// The head of a page: the program, its duration and losses. All other facts unfold.

import type { ComponentChildren } from "preact";

interface Props {
  children?: ComponentChildren;
  title: string;
  facts: [string, string][];
}

const FIRST = [
  "took",
  "shown",
  "calls",
  "lines",
  "objects",
  "executed",
  "contexts",
  "matches",
  "waiting",
  "idle",
  "change",
  "old",
  "new",
]; // labels of facts that are always in sight

export function Facts({ title, facts, children }: Props) {
  const lost = facts.filter(([label, text]) => label === "lost" && text !== "nothing");
  const first = FIRST.flatMap((label) => facts.filter(([one]) => one === label));
  const shown = first.map(([label, text]) => (
    <span class="fact" key={label}>
      <b>{label}</b> {text}
    </span>
  ));
  return (
    <header class="facts">
      <div class="title">
        <h1>
          <bdi>{title}</bdi>
        </h1>
        {children}
      </div>
      {first.length === facts.length ? (
        <p class="all">{shown}</p>
      ) : (
        <details>
          <summary>
            {shown}
            {lost.length > 0 && <span class="fact warn">something was lost</span>}
            <span class="more">more about it</span>
          </summary>
          <dl>
            {facts.map(([label, text], at) => (
              <div key={at} class={label === "lost" && text !== "nothing" ? "warn" : ""}>
                <dt>{label}</dt>
                <dd>
                  <bdi>{text}</bdi>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </header>
  );
}
