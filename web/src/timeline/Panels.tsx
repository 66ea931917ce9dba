/** Details of a call, and of a range with its functions. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { count, duration } from "../data/words.ts";
import { AFTER, BEFORE, BEGAN_UNSEEN, ENDED_UNSEEN, GAP, OPEN, PAUSED, RESUMED, UNSURE, UNWOUND } from "./draw.ts";
import type { Spot } from "./scene.ts";
import type { RangeSums, TraceInfo, TraceSource } from "./source.ts";
import { moment } from "./viewport.ts";

interface Common {
  readonly nameOf: (fn: number) => string;
}

export function CallPanel({
  spot,
  info,
  nameOf,
  children,
}: Common & { spot: Spot; info: TraceInfo; children: ComponentChildren }) {
  const place = info.places[spot.fn] ?? "";
  const length = spot.end - spot.start;
  const many = spot.calls > 1;
  const notes = [
    spot.flags & (BEFORE | AFTER) ? "it reaches beyond what has been read so far" : "",
    spot.flags & BEGAN_UNSEEN ? "its beginning was not seen" : "",
    spot.flags & ENDED_UNSEEN ? "its end was not seen" : "",
    spot.flags & OPEN ? "it still ran at the end of its thread, or of what has been recorded" : "",
    spot.flags & RESUMED ? "this is a later step of a call that had paused" : "",
    spot.flags & PAUSED ? "it paused at the end of this step" : "",
    spot.flags & UNSURE ? "several calls were paused here: which one this is is a guess" : "",
    spot.flags & UNWOUND ? "an exception left it" : "",
    spot.flags & GAP ? "events are missing inside: it may be several calls" : "",
    info.waits(spot.node) ? "over the whole recording it waits more than it runs" : "",
  ].filter(Boolean);
  return (
    <aside class="panel call" aria-live="polite">
      <div>
        <h2>{many ? `${count(spot.calls)} calls, mostly ${nameOf(spot.fn)}` : nameOf(spot.fn)}</h2>
        <dl>
          <div>
            <dt>{many ? "stretch" : "took"}</dt>
            <dd>
              {duration(length)}
              {spot.bound > 0 && <span class="quiet"> ±{duration(spot.bound)}</span>}
            </dd>
          </div>
          {many && (
            <div>
              <dt>in these calls</dt>
              <dd>{duration(spot.busy)}</dd>
            </div>
          )}
          <div>
            <dt>from</dt>
            <dd>{moment(spot.start, Math.max(1, length / 1000))}</dd>
          </div>
          <div>
            <dt>thread</dt>
            <dd>{info.threads[spot.thread]?.name ?? "?"}</dd>
          </div>
          <div>
            <dt>depth</dt>
            <dd>{spot.depth}</dd>
          </div>
          {place && (
            <div>
              <dt>source</dt>
              <dd class="path">{place}</dd>
            </div>
          )}
        </dl>
        {notes.length > 0 && <p class="quiet">{notes.join("; ")}</p>}
      </div>
      {children}
    </aside>
  );
}

interface FunctionSum {
  fn: number;
  calls: number;
  own: number;
  total: number;
}

/** Return the functions of a range. A total has only the outermost calls, so that recursion is not counted twice. */
export function sumsOf(range: RangeSums): FunctionSum[] {
  const sums = new Map<number, FunctionSum>();
  range.function.forEach((fn, path) => {
    let sum = sums.get(fn);
    if (!sum) {
      sum = { fn, calls: 0, own: 0, total: 0 };
      sums.set(fn, sum);
    }
    sum.calls += range.calls[path]!;
    sum.own += range.own[path]!;
    let above = range.parent[path]!;
    while (above >= 0 && range.function[above] !== fn) above = range.parent[above]!;
    if (above < 0) sum.total += range.total[path]!;
  });
  return [...sums.values()].sort((a, b) => b.own - a.own || b.calls - a.calls);
}

const ROWS = 200;

export function RangePanel({
  source,
  range,
  nameOf,
  close,
  open,
}: Common & {
  source: TraceSource;
  range: { from: number; to: number };
  close: () => void;
  /** Shows the flame graph of the range; undefined without a server. */
  open?: ((from: number, to: number) => void) | undefined;
}) {
  const [sums, setSums] = useState<RangeSums | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    const control = new AbortController();
    setSums(null);
    setTrouble("");
    source.range(range.from, range.to, control.signal).then(setSums, (error: Error) => {
      if (!control.signal.aborted) setTrouble(error.message);
    });
    return () => control.abort();
  }, [source, range.from, range.to]);
  const functions = sums ? sumsOf(sums) : [];
  const whole = Math.max(1, ...functions.map((row) => row.own));
  return (
    <aside class="panel range" aria-live="polite">
      <h2>
        {duration(range.to - range.from)} from {moment(range.from, Math.max(1, (range.to - range.from) / 100))}
        {open && (
          <button type="button" class="open" onClick={() => open(range.from, range.to)}>
            Flame graph of this stretch
          </button>
        )}
        <button type="button" class="close" onClick={close} title="choose nothing (Escape)">
          ×
        </button>
      </h2>
      {trouble && <p class="bad">{trouble}</p>}
      {!sums && !trouble && <p class="quiet">Adding up …</p>}
      {sums?.estimated && <p class="quiet">There are too many calls to add up each: these are estimates.</p>}
      {sums && functions.length === 0 && <p class="quiet">No call is in this range.</p>}
      {sums && functions.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than the window scrolls by the keyboard, too
        <div class="scroll" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">own</th>
                <td class="bars" />
                <th scope="col">total</th>
                <th scope="col">calls</th>
                <th scope="col">function</th>
              </tr>
            </thead>
            <tbody>
              {functions.slice(0, ROWS).map((row) => (
                <tr key={row.fn}>
                  <td class="number">{duration(row.own)}</td>
                  <td class="bars">
                    <meter min={0} max={whole} value={row.own} />
                  </td>
                  <td class="number">{duration(row.total)}</td>
                  <td class="number">
                    {sums.estimated ? "≈" : ""}
                    {count(row.calls)}
                  </td>
                  <td class="name">{nameOf(row.fn)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {functions.length > ROWS && <p class="quiet">and {functions.length - ROWS} functions more</p>}
        </div>
      )}
    </aside>
  );
}
