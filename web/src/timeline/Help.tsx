import { useEffect, useRef } from "preact/hooks";

const KEYS: readonly (readonly [string, string])[] = [
  ["W S", "zoom in and out, at the pointer (also + and −, or Ctrl and the wheel)"],
  ["A D", "move back and forth in time (also Shift and the wheel, or drag)"],
  ["↑ ↓ ← →", "move; with a call chosen: to its caller, what it calls, the call before and after"],
  ["Enter", "choose a call; with one chosen: zoom to it"],
  ["Shift drag", "choose a range, for its functions and flame graph (also by dragging the ruler)"],
  ["F", "show everything"],
  ["Home End", "go to the beginning, to the end"],
  ["/", "find calls by name"],
  ["N P", "the next call found, the one before"],
  ["M", "the next mark of the program (with Shift the one before)"],
  ["Escape", "choose nothing"],
  ["double click", "zoom to a call"],
  ["click a name", "of a thread: show all of its rows, fold them, the usual again"],
];

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    dialog.current?.scrollTo(0, 0); // the button that has the focus is at its end
  }, []);
  return (
    <dialog ref={dialog} onClose={close} aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h2>What is drawn</h2>
      <ul>
        <li>A box is a call. Its colour is its package's; grey are the standard library, installed packages and C.</li>
        <li>
          A box with × is a run of calls too short to be drawn apart, with the function that took most of it. The paler
          it is, the less of its time these calls ran.
        </li>
        <li>A hatched call is of a function that, over the whole recording, waits more than it runs.</li>
        <li>
          A frayed beginning or end is uncertain by its width. Orange marks a gap: events are missing there. A line of
          magenta is a pause of the cycle collector.
        </li>
        <li>A triangle is a mark that the program made, a line above a thread's calls one of its spans.</li>
      </ul>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
