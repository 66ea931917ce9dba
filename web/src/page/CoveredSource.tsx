// The source of a file with its coverage: marks, hits, branches that were never taken and why, contexts.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "../chrome/keys.ts";
import { covered, type FileHead, type Files, grade, Mark, MORE, read } from "../data/coverage.ts";
import type { Payload } from "../data/payload.ts";
import { count, numberOf, percentText } from "../data/words.ts";
import { LINE, next, rowsOf } from "../source/rows.ts";
import { type Gutter, SourceView } from "../source/SourceView.tsx";
import type { Place } from "./CoveragePage.tsx";
import { Path } from "./Path.tsx";

const NAMES = ["", "ran", "partial", "missing", "excluded"];
const WORDS: [Mark, string][] = [
  [Mark.Ran, "executed"],
  [Mark.Missing, "missing"],
  [Mark.Partial, "partial"],
  [Mark.Excluded, "excluded"],
];
const COLOURS = ["", "", "--partial", "--missing"]; // of the strip, by mark
const NOTHING = new Set<number>();

interface Props {
  files: Files;
  place: Place;
  theme: number;
  go(line: number): void;
  close(): void;
}

export function CoveredSource(props: Props) {
  const { files, place, close } = props;
  const [payload, setPayload] = useState<Payload<FileHead> | null>(null);
  const [problem, setProblem] = useState("");
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    read(place.file).then(setPayload, (reason) =>
      setProblem(String(reason instanceof Error ? reason.message : reason)),
    );
  }, [place.file]);
  useEffect(() => {
    if (matchMedia("(max-width: 820px)").matches) top.current?.scrollIntoView(); // it is below the files there
  }, [place.file]);
  const totals = files.totals(place.file);
  const percent = covered(totals);
  return (
    <>
      <div class="reading-head" ref={top}>
        <h2>
          <Path path={files.head.paths[place.file]} />
        </h2>
        <b class={grade(percent)}>{percentText(percent, files.head.precision)} %</b>
        <button type="button" class="icon close" aria-label="all files" title="all files (u)" onClick={close}>
          ×
        </button>
      </div>
      {files.changed(place.file) && (
        <p class="remark warn">The source has changed since it was recorded, so lines may be marked wrongly.</p>
      )}
      {payload ? <Lines {...props} payload={payload} /> : <p class="state">{problem || "Reading the source …"}</p>}
    </>
  );
}

function Lines({ files, place, theme, go, payload }: Props & { payload: Payload<FileHead> }) {
  const { head } = payload;
  const [off, setOff] = useState<Set<Mark>>(new Set([Mark.Ran]));
  const [asked, setAsked] = useState(0); // the line whose contexts are shown
  const kinds = payload.column("kind");
  const sets = payload.column("set");
  const hits = payload.has("hits") ? payload.column("hits") : null;
  const rows = useMemo(() => {
    const why = new Map<number, number[]>();
    head.why.forEach(([line], at) => {
      why.set(line, [...(why.get(line) ?? []), at]);
    });
    const lines = Array.from({ length: kinds.length }, (_, at) => at + 1);
    return rowsOf(lines, (line) => why.get(line) ?? []);
  }, [payload]);
  const places = useMemo(() => placesOf(kinds), [payload]);
  const goal = useMemo(() => ({ line: place.line || places[0] || 1 }), [place, places]);
  const step = (forth: boolean) => places.length && go(next(places, goal.line, forth));
  useKeys({ n: () => step(true), p: () => step(false), Escape: () => setAsked(0) });
  const gutter = useMemo<Gutter[]>(
    () =>
      hits
        ? [
            {
              name: "hits",
              title: "hits",
              about: "how often the line ran",
              text: (row) => {
                const number = hits[rows.line[row] - 1];
                return rows.extra[row] === LINE && number ? count(number) : "";
              },
            },
          ]
        : [],
    [rows, hits],
  );
  const mark = useMemo(
    () => (row: number) => {
      const kind = kinds[rows.line[row] - 1] % MORE;
      return rows.extra[row] === LINE && (kind === Mark.Missing || kind === Mark.Partial) ? kind : 0;
    },
    [rows],
  );
  const look = (row: number) => {
    if (rows.extra[row] !== LINE) return off.has(Mark.Partial) ? "why off" : "why";
    const number = kinds[rows.line[row] - 1];
    const kind = number % MORE;
    if (!kind) return "";
    return `${NAMES[kind]}${number >= MORE ? " more" : ""}${off.has(kind) ? " off" : ""}`;
  };
  const href = (line: number) => `#${encodeURI(files.head.paths[place.file])}:${line}`;
  const turn = (kind: Mark) => {
    const to = new Set(off);
    if (!to.delete(kind)) to.add(kind);
    setOff(to);
  };
  const numbers = WORDS.map(([kind]) => Array.prototype.filter.call(kinds, (one) => one === kind).length);
  return (
    <>
      <div class="reading-head marks">
        {WORDS.map(
          ([kind, words], at) =>
            numbers[at] > 0 && (
              <button
                key={kind}
                type="button"
                class={`mark-switch ${NAMES[kind]}`}
                aria-pressed={!off.has(kind)}
                title="mark these lines, or not"
                onClick={() => turn(kind)}
              >
                {count(numbers[at])} {words}
              </button>
            ),
        )}
        <span class="steps">
          <button type="button" class="button" title="previous place (p)" onClick={() => step(false)}>
            ↑<span class="hidden">previous place</span>
          </button>
          <button type="button" class="button" title="next place (n)" onClick={() => step(true)}>
            ↓<span class="hidden">next place</span>
          </button>
          <span role="status">
            {places.includes(goal.line) ? `${places.indexOf(goal.line) + 1} of ` : ""}
            {numberOf(places.length, "place")}
          </span>
        </span>
      </div>
      {kinds.length ? (
        <SourceView
          label="source with what was executed"
          {...{ rows, gutter, look, mark, goal, theme, href }}
          lines={head.lines}
          colours={COLOURS}
          found={NOTHING}
          wide={head.why.reduce((most, [, , text]) => Math.max(most, text.length + 16), 0)}
          extra={(row) => rows.extra[row] !== LINE && <Why why={head.why[rows.extra[row]]} href={href} />}
          after={(line) => {
            const set = sets[line - 1];
            return (
              set > 0 && (
                <button
                  type="button"
                  class="contexts"
                  aria-expanded={asked === line}
                  title="the contexts that the line ran in"
                  onClick={() => setAsked(asked === line ? 0 : line)}
                >
                  {numberOf(sizeOf(head.sets[set - 1]), "context")}
                </button>
              )
            );
          }}
        />
      ) : (
        <p class="state">This file is empty, or its source is gone.</p>
      )}
      {asked > 0 && sets[asked - 1] > 0 && (
        <Contexts head={head} set={sets[asked - 1] - 1} line={asked} close={() => setAsked(0)} />
      )}
    </>
  );
}

/** Return the partial lines and the first lines of runs of missing ones. */
function placesOf(kinds: ArrayLike<number>): number[] {
  const found: number[] = [];
  let last = 0;
  for (let at = 0; at < kinds.length; at++) {
    const kind = kinds[at];
    if (kind >= MORE) continue;
    if (kind === Mark.Partial || (kind === Mark.Missing && last !== Mark.Missing)) found.push(at + 1);
    if (kind) last = kind;
  }
  return found;
}

function sizeOf(ranges: [number, number][]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

function Why({ why: [, to, text], href }: { why: FileHead["why"][number]; href(line: number): string }) {
  return (
    <>
      {"    "}
      {to ? <a href={href(to)}>→ {to}</a> : "→ out"} <span>{text}</span>
    </>
  );
}

function Contexts({ head, set, line, close }: { head: FileHead; set: number; line: number; close(): void }) {
  const names = head.sets[set].flatMap(([first, last]) => head.names.slice(first, last + 1));
  return (
    <aside class="contexts-pane" aria-label="contexts">
      <h3>
        Line {line} ran in {numberOf(names.length, "context")}
        <button type="button" class="icon" aria-label="close" title="close (Esc)" onClick={close}>
          ×
        </button>
      </h3>
      {/* it scrolls, by the keyboard too */}
      <ul {...{ tabIndex: 0 }}>
        {names.map((name) => (
          <li key={name}>
            <bdi>{name}</bdi>
          </li>
        ))}
      </ul>
    </aside>
  );
}
