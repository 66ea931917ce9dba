import { render } from "preact";
import { App } from "../view/app.tsx";

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
