// Switches, choices and the field to search in.

import type { ComponentChildren, RefObject } from "preact";
import { isDark } from "./keys.ts";

interface ChoiceProps<Value extends string> {
  name: string;
  label: string;
  value: Value;
  choices: [Value, string, string?][];
  choose(value: Value): void;
}

/** A choice of one of a few values, side by side. */
export function Choice<Value extends string>({ name, label, value, choices, choose }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {choices.map(([one, words, about]) => (
        <label key={one} title={about}>
          <input type="radio" name={name} value={one} checked={one === value} onChange={() => choose(one)} />
          <span>{words}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A choice of one of a few values in a drop-down list. */
export function Pick<Value extends string>({ name, label, value, choices, choose }: ChoiceProps<Value>) {
  return (
    <label class="pick">
      <span>{label}</span>
      <select name={name} value={value} onChange={(event) => choose(event.currentTarget.value as Value)}>
        {choices.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SwitchProps {
  on: boolean;
  turn(on: boolean): void;
  title?: string;
  children: ComponentChildren;
}

export function Switch({ on, turn, title, children }: SwitchProps) {
  return (
    <label class="switch" title={title}>
      <input type="checkbox" checked={on} onChange={(event) => turn(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}

interface SearchProps {
  words: string;
  problem: string;
  found: string;
  field: RefObject<HTMLInputElement | null>;
  search(words: string): void;
  label?: string;
  /** Called on Enter: goes to the next place, or with Shift to the previous one. */
  step?(forth: boolean): void;
}

export function Search({ words, problem, found, field, search, label = "functions", step }: SearchProps) {
  return (
    <div class="search">
      <input
        ref={field}
        type="search"
        value={words}
        placeholder="Search (regular expression)"
        aria-label={`search ${label} with a regular expression`}
        aria-invalid={problem !== ""}
        aria-describedby="found"
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => search(event.currentTarget.value)}
        onKeyDown={(event) => step && event.key === "Enter" && step(!event.shiftKey)}
      />
      <span id="found" role="status" class={problem ? "warn" : "quiet"}>
        {problem || found}
      </span>
    </div>
  );
}

/** A switch between a light page, a dark page, and the system's setting. */
export function Theme({ changed }: { changed(): void }) {
  const turn = () => {
    const root = document.documentElement;
    root.dataset.theme = isDark() ? "light" : "dark";
    changed();
  };
  return (
    <button type="button" class="icon" title="light or dark" aria-label="switch between light and dark" onClick={turn}>
      ◐
    </button>
  );
}

function open(dialog: HTMLDialogElement | null): void {
  if (!dialog || dialog.open) return;
  dialog.showModal();
  dialog.scrollTo(0, 0); // the button that has the focus is at its end
}

/** A dialog that lists the keys. */
export function Keys({ keys, close }: { keys: [string, string][]; close(): void }) {
  return (
    <dialog ref={open} onClose={close} aria-label="keys">
      <h2>Keys</h2>
      <dl class="keys">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </dialog>
  );
}
