// The page of changes: both sides in one flame graph, coloured by change, and the ranked functions.

import { useMemo, useRef, useState } from "preact/hooks";
import { Choice, Pick, Search, Theme } from "../chrome/controls.tsx";
import { Facts } from "../chrome/Facts.tsx";
import { useTheme } from "../chrome/keys.ts";
import { SYNTHETIC } from "../data/calls.ts";
import { change, colourOf, type DiffHead, type Side, Sides } from "../data/diff.ts";
import type { Payload } from "../data/payload.ts";
import { search } from "../data/search.ts";
import { count, duration, numberOf, percent } from "../data/words.ts";
import { Flame } from "../flame/Flame.tsx";
import type { FlameView } from "../flame/FlameView.ts";
import { Frames } from "../flame/frames.ts";
import { palette } from "../flame/palette.ts";
import { TipBox } from "../flame/Tip.tsx";
import { DiffTable, type Rank } from "../table/DiffTable.tsx";

type View = "root" | "heavy" | "leaf";
type Metric = "calls" | "cpu";

const METRICS: [Metric, string][] = [
  ["calls", "calls (exact)"],
  ["cpu", "own and total time"],
];

const LEGEND: [number, string][] = [
  [0, "half or more less"],
  [1, "less"],
  [3, "same, or within the error"],
  [5, "more"],
  [6, "twice or more"],
];

interface Both {
  old: number;
  now: number;
  error: number;
}

export function DiffPage({ payload }: { payload: Payload<DiffHead> }) {
  const { head } = payload;
  const kinds = payload.column("f.kind");
  const sides = useMemo(() => new Sides(payload), [payload]);
  const [view, setView] = useState<View>("root");
  const [metric, setMetric] = useState<Metric>("calls");
  const [side, setSide] = useState<Side>("both");
  const [rank, setRank] = useState<Rank>("calls");
  const [words, setWords] = useState("");
  const [selected, select] = useState(-1);
  const [theme, changed] = useTheme();
  const [tip, setTip] = useState<{ x: number; y: number; frames: Frames; frame: number } | null>(null);
  const [reached, setReached] = useState("");
  const [zoomed, setZoomed] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const flame = useRef<FlameView | null>(null);
  const size = head.names.length;

  const name = (fn: number) => {
    if (fn < 0) return "all";
    const module = head.modules[fn];
    return kinds[fn] === SYNTHETIC || !module ? head.names[fn] : `${module}:${head.names[fn]}`;
  };
  const paths = useMemo(() => sides.of(side), [sides, side]);
  const weights = useMemo(() => paths.weights(metric), [paths, metric]);
  const frames = useMemo(() => {
    if (view === "leaf") return Frames.fromLeaf(paths, weights, size);
    return Frames.fromRoot(paths, weights, view === "root" ? "called" : "heavy", size);
  }, [paths, weights, view]);
  const both = useMemo(() => {
    const [old, now] = (["old", "new"] as const).map((one) => sides.of(one).weights(metric));
    const known = new Map<number, Both>();
    return (frame: number): Both => {
      let found = known.get(frame);
      if (!found) {
        found = { old: 0, now: 0, error: frames.error[frame] };
        const own = view === "leaf";
        for (const path of frames.basesOf(frame)) {
          found.old += (own ? old.own : old.total)[path];
          found.now += (own ? now.own : now.total)[path];
        }
        known.set(frame, found);
      }
      return found;
    };
  }, [sides, frames, metric]);
  const found = useMemo(() => search(words, size, (fn) => `${name(fn)}\n${head.places[fn] ?? ""}`), [words]);
  const look = useMemo(
    () => ({
      palette: palette(true),
      colour: (frame: number) => {
        const { old, now, error } = both(frame);
        return colourOf(change(old, now, error));
      },
      labels: (frame: number) => {
        const fn = frames.fn[frame];
        return fn < 0 ? ["all"] : [name(fn), head.names[fn]];
      },
      matches: found.matches,
      selected,
    }),
    [both, found.matches, selected, theme],
  );
  const amount = (value: number) => (metric === "calls" ? count(value) : duration(value));
  const changeText = ({ old, now }: Both) =>
    now === old ? "no change" : `${now > old ? "+" : "-"}${amount(Math.abs(now - old))}`;
  const shareOf = (value: number, of: "old" | "new") => {
    const share = percent(value, sides.of(of).weights(metric).whole);
    return share ? `${amount(value)}, ${share} of all` : amount(value);
  };
  const listener = {
    hover: (frame: number, x: number, y: number) => setTip(frame < 0 ? null : { x, y, frames, frame }),
    choose: (frame: number) => frames.fn[frame] >= 0 && select(frames.fn[frame]),
    reach: (frame: number) => {
      const one = both(frame);
      setReached(`${name(frames.fn[frame])}: ${changeText(one)}, before ${amount(one.old)}, now ${amount(one.now)}`);
    },
    zoomed: setZoomed,
  };
  return (
    <>
      <Facts title={head.title} facts={head.facts}>
        <Theme changed={changed} />
      </Facts>
      <nav class="tools" aria-label="what is shown">
        <Choice
          name="view"
          label="flame graph"
          value={view}
          choices={[
            ["root", "From the root"],
            ["heavy", "Left-heavy"],
            ["leaf", "From the leaf"],
          ]}
          choose={(one) => setView(one)}
        />
        <Pick
          name="metric"
          label="Compare"
          value={metric}
          choices={METRICS.slice(0, head.timeless ? 1 : 2)}
          choose={(one) => {
            setMetric(one);
            setRank(one === "calls" ? "calls" : "time");
          }}
        />
        <Pick
          name="side"
          label="Width of"
          value={side}
          choices={[
            ["both", "both sides"],
            ["old", "the old side"],
            ["new", "the new side"],
          ]}
          choose={(one) => setSide(one)}
        />
        <Search
          {...{ words, field }}
          problem={found.problem}
          found={found.matches ? numberOf(found.count, "function") : ""}
          search={setWords}
        />
      </nav>
      <main>
        <section class="graph" aria-label="flame graph">
          {weights.whole > 0 ? (
            <Flame
              {...{ frames, look, listener }}
              label="flame graph: arrow keys walk, Enter zooms, Escape shows all"
              attach={(made) => {
                flame.current = made;
              }}
            />
          ) : (
            <p class="state">There is nothing of this on {side === "both" ? "either side" : `the ${side} side`}.</p>
          )}
          <p class="legend">
            {LEGEND.map(([colour, text]) => (
              <span key={colour} class={`swatch change${colour}`}>
                {text}
              </span>
            ))}
            {head.leftOut > 0 && <span class="warn">{count(head.leftOut)} smaller paths are summed up, not shown</span>}
            {zoomed && (
              <button type="button" class="button" onClick={() => flame.current?.reset()}>
                Show all (Esc)
              </button>
            )}
          </p>
          <p class="hidden" role="status">
            {reached}
          </p>
        </section>
        <section class="side" aria-label="functions">
          <DiffTable {...{ payload, name, rank, setRank, selected, select }} matches={found.matches} />
        </section>
      </main>
      {tip && tip.frames === frames && (
        <TipBox
          x={tip.x}
          y={tip.y}
          name={name(frames.fn[tip.frame])}
          place={head.places[frames.fn[tip.frame]] ?? ""}
          rows={[
            ["change", changeText(both(tip.frame))],
            ["before", shareOf(both(tip.frame).old, "old")],
            ["now", shareOf(both(tip.frame).now, "new")],
          ]}
        />
      )}
    </>
  );
}
