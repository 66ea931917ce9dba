// The page of calls: the flame graph, the functions, and details of the chosen one.

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Choice, Keys, Pick, Search, Switch, Theme } from "../chrome/controls.tsx";
import { Facts } from "../chrome/Facts.tsx";
import { useKeys, useTheme } from "../chrome/keys.ts";
import type { CallsHead, Times } from "../data/calls.ts";
import type { Metric, Paths } from "../data/paths.ts";
import type { Payload } from "../data/payload.ts";
import { part, search } from "../data/search.ts";
import { numberOf, percent } from "../data/words.ts";
import { Flame } from "../flame/Flame.tsx";
import type { FlameView } from "../flame/FlameView.ts";
import { Frames } from "../flame/frames.ts";
import { amountOf, Graph, isTime, wordsOf } from "../flame/graph.ts";
import { palette, SHADES, shadeOf } from "../flame/palette.ts";
import { Tip, type Tipped } from "../flame/Tip.tsx";
import { columns } from "../table/functions.ts";
import { Table } from "../table/Table.tsx";
import { Details } from "./Details.tsx";
import { Legend } from "./Legend.tsx";

type View = "root" | "heavy" | "leaf" | "sandwich";

const VIEWS: [View, string, string][] = [
  ["root", "From the root", "who calls whom, in the order of the first calls"],
  ["heavy", "Left-heavy", "who calls whom, the largest first"],
  ["leaf", "From the leaf", "where it is spent, and below each function who called it"],
  ["sandwich", "Sandwich", "one function: its callers above, its callees below"],
];

const KEYS: [string, string][] = [
  ["↑ ↓ ← →", "walk through the flame graph: caller, callee, neighbours"],
  ["Enter", "zoom to the frame and choose its function"],
  ["Esc", "show all of it again"],
  ["+ -", "zoom"],
  ["a d", "move left and right"],
  ["/", "search"],
  ["1 2 3 4", "from the root, left-heavy, from the leaf, sandwich"],
  ["l", "fold or unfold libraries"],
  ["t", "threads apart or together"],
  ["?", "this list"],
];

export function CallsPage({ payload }: { payload: Payload<CallsHead> }) {
  const { head } = payload;
  const graph = useMemo(() => new Graph(head, payload), [payload]);
  const [view, setView] = useState<View>("root");
  const [metric, setMetric] = useState<Metric>(head.timeless ? "calls" : head.times);
  const [fold, setFold] = useState(head.folded ?? false);
  const [apart, setApart] = useState(false);
  const [words, setWords] = useState("");
  const [selected, select] = useState(-1);
  const [theme, changed] = useTheme();
  const [help, setHelp] = useState(false);
  const [tip, setTip] = useState<Tipped | null>(null);
  const [reached, setReached] = useState("");
  const [zoomed, setZoomed] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const flame = useRef<FlameView | null>(null);

  const paths = useMemo(() => graph.of(fold), [graph, fold]);
  const weights = useMemo(() => paths.weights(metric), [paths, metric]);
  const sandwiched = view === "sandwich" ? selected : -1;
  const shown = useMemo(
    () => framesOf(graph, paths, view, metric, apart, sandwiched),
    [paths, view, metric, apart, sandwiched],
  );
  const found = useMemo(() => search(words, graph.size, (fn) => graph.searched(fn)), [graph, words, paths]);
  const share = found.matches ? part(paths, weights.total, found.matches) : 0;
  const times: Times = metric === "calls" || metric === "exceptions" ? head.times : metric;
  const shownColumns = useMemo(() => columns(graph.functions, times), [graph, times]);

  const look = useMemo(() => {
    const colours = new Uint8Array(graph.size);
    for (let fn = 0; fn < graph.size; fn++) {
      colours[fn] = graph.whose(fn) * SHADES + shadeOf(head.modules[fn] ?? graph.name(fn));
    }
    const labels = new Map<number, string[]>();
    return (frames: Frames) => ({
      palette: palette(false),
      colour: (frame: number) => (frames.fn[frame] < 0 ? 4 * SHADES : colours[frames.fn[frame]]),
      labels: (frame: number) => {
        const fn = frames.fn[frame];
        let known = labels.get(fn);
        if (!known) {
          known = graph.labels(fn);
          labels.set(fn, known);
        }
        return known;
      },
      matches: found.matches,
      selected,
    });
  }, [graph, paths, found.matches, selected, theme]);

  const turnView = useCallback((to: View) => setView(to), []);
  useEffect(() => setTip(null), [shown]); // another frame is below the pointer
  useKeys({
    "/": () => field.current?.focus(),
    "1": () => turnView("root"),
    "2": () => turnView("heavy"),
    "3": () => turnView("leaf"),
    "4": () => turnView("sandwich"),
    l: () => graph.canFold && setFold(!fold),
    t: () => graph.severalThreads && setApart(!apart),
    "?": () => setHelp(true),
  });

  const listenerOf = (frames: Frames) => ({
    hover: (frame: number, x: number, y: number) => setTip(frame < 0 ? null : { x, y, frames, frame, graph, metric }),
    choose: (frame: number) => frames.fn[frame] >= 0 && select(frames.fn[frame]),
    reach: (frame: number) =>
      setReached(
        `${graph.name(frames.fn[frame])}: ${amountOf(metric, frames.value[frame], frames.error[frame], weights.whole)}`,
      ),
    zoomed: setZoomed,
  });

  const metrics: [Metric, string][] = (["cpu", "wait", "wall", "calls", "exceptions"] as Metric[])
    .filter((one) => !head.timeless || one === "calls" || one === "exceptions")
    .filter((one) => head.divided || !(one === "wait" || one === "wall"))
    .map((one) => [one, wordsOf(one, head.divided)]);
  return (
    <>
      <Facts title={head.title} facts={head.facts}>
        <Theme changed={changed} />
        <button type="button" class="icon" aria-label="keys" title="keys (?)" onClick={() => setHelp(true)}>
          ?
        </button>
      </Facts>
      <nav class="tools" aria-label="what is shown">
        <Choice name="view" label="flame graph" value={view} choices={VIEWS} choose={turnView} />
        <Pick name="metric" label="Width" value={metric} choices={metrics} choose={(one) => setMetric(one)} />
        {graph.canFold && (
          <Switch on={fold} turn={setFold} title="show what libraries do inside as one frame (l)">
            Fold libraries
          </Switch>
        )}
        {graph.severalThreads && (
          <Switch on={apart} turn={setApart} title="each thread by itself (t)">
            Threads apart
          </Switch>
        )}
        <Search
          {...{ words, field }}
          problem={found.problem}
          found={
            found.matches
              ? `${numberOf(found.count, "function")}, ${percent(share, weights.whole) || "0 %"} of all`
              : ""
          }
          search={setWords}
        />
      </nav>
      <main class="calls">
        <section class="graph" aria-label="flame graph">
          {weights.whole > 0 ? (
            <Graphs {...{ shown, look, listenerOf, view, sandwiched }} attach={(made) => (flame.current = made)} />
          ) : (
            <p class="state">{nothing(metric, graph)}</p>
          )}
          <Legend graph={graph} leftOut={head.leftOut} uncertain={isTime(metric)} waiting={metric === "wall"}>
            {zoomed && (
              <button type="button" class="button" onClick={() => flame.current?.reset()}>
                Show all (Esc)
              </button>
            )}
          </Legend>
          <p class="hidden" role="status">
            {reached}
          </p>
        </section>
        <section class="side" aria-label="functions">
          <Table
            functions={graph.functions}
            {...{ times, selected, select }}
            columns={shownColumns}
            matches={found.matches}
          />
          {selected >= 0 && (
            <Details
              {...{ graph, metric, times, selected, select }}
              sandwich={() => setView("sandwich")}
              unfold={() => setFold(false)}
              close={() => select(-1)}
            />
          )}
        </section>
      </main>
      {tip && <Tip {...tip} whole={weights.whole} />}
      {help && <Keys keys={KEYS} close={() => setHelp(false)} />}
    </>
  );
}

interface Shown {
  main: Frames;
  callers: Frames | null;
}

function framesOf(graph: Graph, paths: Paths, view: View, metric: Metric, apart: boolean, fn: number): Shown {
  const weights = paths.weights(metric);
  const { size } = graph;
  if (view === "sandwich" && fn >= 0) {
    return {
      main: Frames.around(paths, weights, fn, false, size),
      callers: Frames.around(paths, weights, fn, true, size),
    };
  }
  if (view === "leaf") {
    const known = isTime(metric) ? graph.functions.column(`${metric}.own_error`) : [];
    return { main: Frames.fromLeaf(paths, weights, size, known), callers: null };
  }
  const labels = apart ? graph.above(paths) : [];
  return {
    main: Frames.fromRoot(paths, weights, view === "root" ? "called" : "heavy", size, labels),
    callers: null,
  };
}

function nothing(metric: Metric, graph: Graph): string {
  if (!graph.paths.size) return "This recording has no calls.";
  if (metric === "exceptions") return "No call ended with an exception.";
  if (metric === "wait") return "Nothing waited.";
  return metric === "calls" ? "No call was counted." : "No time was measured: choose calls as the width.";
}

interface GraphsProps {
  shown: Shown;
  look: (frames: Frames) => Parameters<typeof Flame>[0]["look"];
  listenerOf: (frames: Frames) => Parameters<typeof Flame>[0]["listener"];
  view: View;
  sandwiched: number;
  attach(view: FlameView | null): void;
}

function Graphs({
  shown: { main, callers },
  look,
  listenerOf,
  view,
  sandwiched,
  attach,
}: GraphsProps): ComponentChildren {
  const mainLook = useMemo(() => look(main), [look, main]);
  const callersLook = useMemo(() => callers && look(callers), [look, callers]);
  if (view === "sandwich" && sandwiched < 0) {
    return <p class="state">Choose a function, in the table or in a flame graph, to see its callers and callees.</p>;
  }
  if (view === "sandwich" && !(main.value[0] > 0)) {
    return <p class="state">The chosen function has nothing of this, or is folded into a library.</p>;
  }
  return (
    <>
      {callers && callersLook && (
        <Flame key="callers" frames={callers} look={callersLook} listener={listenerOf(callers)} label="callers" flip />
      )}
      <Flame
        key="main"
        frames={main}
        look={mainLook}
        listener={listenerOf(main)}
        label={callers ? "callees" : "flame graph: arrow keys walk, Enter zooms, Escape shows all"}
        attach={attach}
      />
    </>
  );
}
