// The changed functions: exact counts, and times with the error of the change.

import { useMemo, useState } from "preact/hooks";
import { Choice } from "../chrome/controls.tsx";
import type { DiffHead } from "../data/diff.ts";
import type { Payload } from "../data/payload.ts";
import { count } from "../data/words.ts";
import { Name } from "./Name.tsx";

export type Rank = "calls" | "time" | "came" | "went";

const FIRST = 60; // rows; more on demand

const RANKS: [Rank, string, string][] = [
  ["calls", "Calls", "numbers of calls that differ; they are exact"],
  ["time", "Own time", "own times that changed by more than those of equal runs do"],
  ["came", "New", "functions that ran only on the new side"],
  ["went", "Gone", "functions that ran only on the old side"],
];

interface Props {
  payload: Payload<DiffHead>;
  name(fn: number): string;
  rank: Rank;
  setRank(rank: Rank): void;
  matches: Uint8Array | null;
  selected: number;
  select(fn: number): void;
}

/** Return the rows of a ranking, in the order of `seismo diff`. */
export function ranked(payload: Payload<DiffHead>, rank: Rank): number[] {
  const { states } = payload.head;
  const [calls, own, significant, bound] = ["calls_change", "own_change", "significant", "bound"].map((name) =>
    payload.column(`f.${name}`),
  );
  const rows = Array.from(states.keys());
  if (rank === "calls") {
    const moved = rows.filter((row) => states[row] === "both" && calls[row] && !bound[row]);
    return moved.sort((a, b) => Math.abs(calls[b]) - Math.abs(calls[a]) || a - b);
  }
  if (rank === "time") {
    const changed = rows.filter((row) => states[row] === "both" && significant[row]);
    return changed.sort((a, b) => Math.abs(own[b]) - Math.abs(own[a]) || a - b);
  }
  const one = rows.filter((row) => states[row] === (rank === "came" ? "new" : "gone"));
  return one.sort((a, b) => Math.abs(own[b]) - Math.abs(own[a]) || Math.abs(calls[b]) - Math.abs(calls[a]) || a - b);
}

export function DiffTable({ payload, name, rank, setRank, matches, selected, select }: Props) {
  const { head } = payload;
  const [all, setAll] = useState(false);
  const sorted = useMemo(() => ranked(payload, rank), [payload, rank]);
  const rows = matches ? sorted.filter((row) => matches[row]) : sorted;
  const shown = all ? rows : rows.slice(0, FIRST);
  const alone = rank === "came" || rank === "went";
  const side = rank === "went" ? 2 : 3; // the index of the cell of that side
  const cells = (row: number): string[] => {
    const [calls, times] = [head.calls[row], head.times[row]];
    if (alone) return head.timeless ? [calls[side]] : [times[side], calls[side]];
    const [change, error, old, now, growth] = rank === "calls" ? calls : times;
    return rank === "calls" ? [change, old, now, growth] : [change, error, old, now, growth];
  };
  const titles = alone
    ? head.timeless
      ? ["calls"]
      : ["own", "calls"]
    : rank === "calls"
      ? ["change", "old", "new", ""]
      : ["change", "±", "old", "new", ""];
  return (
    <>
      <div class="ranks">
        <Choice
          name="rank"
          label="ranked by"
          value={rank}
          choices={RANKS.filter(([one]) => one !== "time" || !head.timeless)}
          choose={setRank}
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <section class="table-pane" tabIndex={0} aria-label="changes">
        {rows.length === 0 ? (
          <p class="state">{matches ? "No function of this list matches the search." : nothing(rank)}</p>
        ) : (
          <table class="functions">
            <thead>
              <tr>
                <th scope="col" class="name">
                  function
                </th>
                {titles.map((title, at) =>
                  title ? (
                    <th key={title} scope="col">
                      {title}
                    </th>
                  ) : (
                    <td key={String(at)} class="head" />
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row} class={row === selected ? "selected" : ""} onClick={() => select(row)}>
                  <th scope="row" class="name">
                    <button type="button" class="function plain">
                      <Name
                        lead={name(row).slice(0, name(row).length - head.names[row].length)}
                        name={head.names[row]}
                      />
                      <bdi class="place">{head.places[row]}</bdi>
                    </button>
                  </th>
                  {cells(row).map((cell, at) => (
                    <td key={String(at)} class={at === 0 ? "own" : ""}>
                      {cell}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {rows.length > shown.length && (
          <p class="rest">
            <button type="button" class="button" onClick={() => setAll(true)}>
              Show {count(rows.length - shown.length)} more
            </button>
          </p>
        )}
      </section>
    </>
  );
}

function nothing(rank: Rank): string {
  if (rank === "calls") return "Every function was called as often as before.";
  if (rank === "time") return "No own time surely changed: what differs is within the error.";
  return rank === "came" ? "No function is new." : "No function is gone.";
}
