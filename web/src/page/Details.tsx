// Details of the chosen function: numbers, callers, callees, and source.

import { useMemo } from "preact/hooks";
import type { Times } from "../data/calls.ts";
import type { Metric } from "../data/paths.ts";
import { count, duration, error, percent, time } from "../data/words.ts";
import { Frames } from "../flame/frames.ts";
import { amount, type Graph, wordsOf } from "../flame/graph.ts";
import { Source } from "./Source.tsx";

const MOST = 8; // callers, and callees

interface Props {
  graph: Graph;
  metric: Metric;
  times: Times;
  selected: number;
  select(fn: number): void;
  sandwich(): void;
  unfold(): void;
  close(): void;
}

export function Details({ graph, metric, times, selected, select, sandwich, unfold, close }: Props) {
  const fold = graph.isFold(selected);
  const figures = useMemo(() => (fold ? [] : figuresOf(graph, times, selected)), [graph, times, selected]);
  return (
    <section class="details" aria-label="the chosen function">
      <h2>
        <span class={`swatch whose${graph.whose(selected)}`}>
          <bdi>{graph.name(selected)}</bdi>
        </span>
        <button type="button" class="icon" aria-label="close" title="close" onClick={close}>
          ×
        </button>
      </h2>
      {fold ? (
        <p class="quiet">
          All frames of this library that lie together.{" "}
          <button type="button" class="button" onClick={unfold}>
            Unfold libraries
          </button>
        </p>
      ) : (
        <>
          <p class="place">
            <bdi>{graph.head.files[selected] ? `${graph.head.files[selected]}` : graph.place(selected)}</bdi>
            {graph.functions.column("line")[selected] > 0 && `:${graph.functions.column("line")[selected]}`}
          </p>
          <dl class="figures">
            {figures.map(([label, text]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
          <button type="button" class="button" onClick={sandwich}>
            Callers and callees as a sandwich
          </button>
          <Source graph={graph} fn={selected} />
          <div class="relatives">
            <Relatives {...{ graph, metric, selected, select }} up />
            <Relatives {...{ graph, metric, selected, select }} up={false} />
          </div>
        </>
      )}
    </section>
  );
}

function figuresOf(graph: Graph, times: Times, fn: number): [string, string][] {
  const { functions } = graph;
  const of = (name: string) => functions.column(name)[fn] ?? 0;
  const own = of(`${times}.own`);
  const ownError = of(`${times}.own_error`);
  const timed: [string, string][] = [
    [
      times === "wait" ? "waiting" : "own",
      `${time(own, ownError)} ${error(ownError, own)} (${percent(own, functions.whole(times)) || "0 %"} of all)`,
    ],
    ["total", time(of(`${times}.total`), of(`${times}.total_error`))],
  ];
  const calls: [string, string] = ["calls", (functions.bound[fn] ? "≥" : "") + count(functions.calls[fn])];
  const found = graph.head.timeless ? [calls] : [...timed, calls];
  if (functions.calls[fn] && !graph.head.timeless) {
    found.push(["own per call", time(own / functions.calls[fn], ownError / functions.calls[fn])]);
  }
  if (times !== "wait" && of("wait.own") > 0) {
    found.push(["waiting", [duration(of("wait.own")), graph.head.reasons[fn]].filter(Boolean).join(", ")]);
  }
  if (of("resumes")) found.push(["resumes", count(of("resumes"))]);
  if (of("exceptions")) found.push(["raised", count(of("exceptions"))]);
  if (of("await")) found.push(["awaiting", duration(of("await"))]);
  return found;
}

interface RelativesProps {
  graph: Graph;
  metric: Metric;
  selected: number;
  select(fn: number): void;
  up: boolean;
}

/** The callers or callees of the function by their totals, with libraries unfolded. */
function Relatives({ graph, metric, selected, select, up }: RelativesProps) {
  const rows = useMemo(() => {
    const weights = graph.paths.weights(metric);
    const frames = Frames.around(graph.paths, weights, selected, up, graph.size);
    const found: { fn: number; value: number; error: number }[] = [];
    if (frames.firstChild[0] >= frames.lastChild[0]) return found;
    const top = frames.firstChild[0];
    frames.open(top);
    for (let child = frames.firstChild[top]; child < frames.lastChild[top]; child++) {
      found.push({ fn: frames.fn[child], value: frames.value[child], error: frames.error[child] });
    }
    return found;
  }, [graph, metric, selected, up]);
  const title = up ? "Callers" : "Callees";
  return (
    <div>
      <h3>
        {title} <span class="quiet">by {wordsOf(metric, graph.head.divided)}</span>
      </h3>
      {rows.length === 0 && <p class="quiet">{up ? "none: it begins a thread" : "none"}</p>}
      <ul>
        {rows.slice(0, MOST).map(({ fn, value, error: errorNs }) => (
          <li key={fn}>
            <span class="amount">{amount(metric, value, errorNs)}</span>
            <button type="button" class={`function whose${graph.whose(fn)}`} onClick={() => select(fn)}>
              <bdi>{graph.name(fn)}</bdi>
            </button>
          </li>
        ))}
      </ul>
      {rows.length > MOST && <p class="quiet">and {count(rows.length - MOST)} more</p>}
    </div>
  );
}
