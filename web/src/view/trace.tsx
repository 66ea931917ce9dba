/** One trace: the timeline, the tools above it, and below it what is known of what was chosen. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { unpack } from "../data/columns.ts";
import { DARK, LIGHT, paintOf, type Theme } from "../timeline/colours.ts";
import type { Spot } from "../timeline/draw.ts";
import { spanOf, TILE_COLUMNS } from "../timeline/tiles.ts";
import { Timeline } from "../timeline/timeline.ts";
import type { Viewport } from "../timeline/viewport.ts";
import { duration, moment } from "../timeline/viewport.ts";
import { Message } from "./app.tsx";
import { type FoundCall, getBytes, getJson, type Said, type TraceInfo } from "./client.ts";
import { Help } from "./help.tsx";
import { CallPanel, RangePanel } from "./panel.tsx";
import { matcher } from "./search.ts";

const C_FUNCTION = 1;
const MOST_NAMED = 3000;
const LOOK_MS = 1000;

function useTheme(): Theme {
  const query = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return dark ? DARK : LIGHT;
}

interface Props {
  readonly number: number;
  readonly live: boolean;
}

export function TraceView({ number, live }: Props) {
  const [info, setInfo] = useState<TraceInfo | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    getJson<TraceInfo>(`${number}/trace`).then(setInfo, (error: Error) => setTrouble(error.message));
  }, [number]);
  if (trouble) return <Message title="The trace cannot be shown" text={trouble} />;
  if (!info) return <Message title="Reading …" text="" />;
  if (info.threads.length === 0) return <Message title="Nothing happened" text="The trace has no thread." />;
  return <Loaded number={number} live={live} info={info} />;
}

function Loaded({ number, live, info }: Props & { info: TraceInfo }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const timeline = useRef<Timeline | null>(null);
  const theme = useTheme();
  const [chosen, setChosen] = useState<{ spot: Spot | null; range: { from: number; to: number } | null }>({
    spot: null,
    range: null,
  });
  const [hover, setHover] = useState<{ spot: Spot; x: number; y: number } | null>(null);
  const [sight, setSight] = useState({ from: info.from, to: info.to });
  const [said, setSaid] = useState("");
  const [text, setText] = useState("");
  const [help, setHelp] = useState(false);
  const looking = useRef(0);

  useEffect(() => {
    if (!canvas.current || !map.current) return;
    const { functions, waits } = info;
    const line = new Timeline(
      canvas.current,
      map.current,
      {
        from: info.from,
        to: info.to,
        threads: info.threads,
        processes: info.processes,
        fetch: getBytes,
        tilePath: (place, threads) => {
          const span = spanOf(place.level);
          const from = place.index * span;
          return `${number}/rows?from=${from}&to=${from + span}&columns=${TILE_COLUMNS}&threads=${threads.join(",")}`;
        },
        whole: async (part, when) => {
          const place = `thread=${part.thread}&depth=${part.depth}&at=${Math.round(when)}`;
          return (await getJson<{ row: Spot | null }>(`${number}/call?${place}`)).row;
        },
        name: (fn) => functions.name[fn] ?? "?",
        paint: (fn, colours) =>
          paintOf(
            {
              module: (functions.module[fn] ?? "").split(".")[0] ?? "",
              foreign: functions.foreign[fn] === 1,
              c: functions.kind[fn] === C_FUNCTION,
            },
            colours,
          ),
        waits: (node) => waits[node] === "1",
      },
      theme,
      {
        chosen: (spot, range) => setChosen({ spot, range }),
        over: (spot, x, y) => setHover(spot && { spot, x, y }),
        moved: (view: Viewport) => setSight({ from: view.from, to: view.to }),
      },
    );
    timeline.current = line;
    const failed = (error: Error) => setSaid(error.message);
    getJson<Said>(`${number}/said`).then((found) => {
      line.say(found.instants, found.gaps);
      if (found.left > 0) setSaid(`${found.left.toLocaleString("en")} marks more are not drawn`);
    }, failed);
    getBytes(`${number}/density?columns=1000`).then((bytes) => {
      const table = unpack(bytes);
      line.density = {
        calls: Float64Array.from(table.column("calls")),
        from: Number(table.info.from),
        to: Number(table.info.to),
      };
      line.refresh();
    }, failed);
    stage.current?.focus({ preventScroll: true });
    return () => line.end();
  }, [number, info]);

  useEffect(() => timeline.current?.setTheme(theme), [theme]);

  useEffect(() => {
    if (!live) return;
    const look = setInterval(() => {
      getJson<{ grown: boolean; to: number }>(`${number}/state`).then(
        (state) => state.grown && timeline.current?.grown(state.to),
        (error: Error) => setSaid(error.message),
      );
    }, LOOK_MS);
    return () => clearInterval(look);
  }, [live, number]);

  const matches = useMemo(() => matcher(text), [text]);
  const named = useMemo(() => {
    if (!matches.test) return [];
    return info.functions.name.flatMap((name, fn) =>
      matches.test?.(`${info.functions.module[fn]}:${name}`) ? [fn] : [],
    );
  }, [matches, info]);
  useEffect(() => {
    const line = timeline.current;
    if (!line) return;
    const set = new Set(named);
    line.matches = matches.test ? (fn) => set.has(fn) : null;
    line.refresh();
  }, [named, matches]);

  const find = async (back: boolean): Promise<void> => {
    const line = timeline.current;
    if (!line || !matches.test) return search.current?.focus();
    if (named.length === 0) return setSaid("no function has such a name");
    if (named.length > MOST_NAMED) return setSaid("too many functions have such a name: write more of it");
    const run = ++looking.current;
    let at = line.selected?.start ?? (back ? line.view.to : line.view.from);
    for (;;) {
      const path = `${number}/find?functions=${named.join(",")}&from=${Math.round(at)}&back=${back ? 1 : 0}`;
      const found = await getJson<FoundCall>(path).catch((error: Error) => setSaid(error.message));
      if (run !== looking.current || !found) return;
      if (found.row) {
        setSaid("");
        line.choose(found.row);
        line.reveal(found.row);
        return;
      }
      if (found.done) return setSaid(back ? "no call before this one" : "no call after this one");
      at = found.to;
      setSaid(`looked up to ${moment(at, 1e6)} …`);
    }
  };

  const keys = (event: KeyboardEvent) => {
    if (help) return; // the dialog has its own
    const typing = event.target instanceof HTMLInputElement;
    if (event.key === "Escape" && typing) {
      setText("");
      looking.current++;
      stage.current?.focus();
    } else if (event.key === "Enter" && typing) void find(event.shiftKey);
    else if (typing) return;
    else if (event.key === "/") search.current?.focus();
    else if (event.key === "?") setHelp(true);
    else if (event.key === "n" || event.key === "p") void find(event.key === "p");
    else {
      timeline.current?.key(event);
      return;
    }
    event.preventDefault();
  };

  const { functions } = info;
  const nameOf = (fn: number) =>
    `${functions.module[fn] ? `${functions.module[fn]}:` : ""}${functions.name[fn] ?? "?"}`;
  const step = (sight.to - sight.from) / 1000;
  return (
    <section class="trace" onKeyDown={keys} aria-label="Timeline">
      <div class="tools">
        <button type="button" title="zoom in (w)" onClick={() => timeline.current?.zoom(0.6)}>
          +
        </button>
        <button type="button" title="zoom out (s)" onClick={() => timeline.current?.zoom(1 / 0.6)}>
          −
        </button>
        <button type="button" title="show everything (f)" onClick={() => timeline.current?.whole()}>
          All
        </button>
        <label class="search">
          <span class="hidden">Find calls</span>
          <input
            ref={search}
            type="search"
            placeholder="Find calls: a name or a regular expression   /"
            value={text}
            spellcheck={false}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        {matches.test && (
          <>
            <button type="button" title="the one before (p)" onClick={() => void find(true)}>
              ↑
            </button>
            <button type="button" title="the next one (n)" onClick={() => void find(false)}>
              ↓
            </button>
            <span class="quiet">
              {named.length.toLocaleString("en")} function{named.length === 1 ? "" : "s"}
            </span>
          </>
        )}
        <span class="quiet" role="status">
          {matches.wrong || said}
        </span>
        <span class="sight">
          {moment(sight.from, step)} – {moment(sight.to, step)} · {duration(sight.to - sight.from)}
        </span>
        <button type="button" title="what the keys do (?)" onClick={() => setHelp(true)}>
          ?
        </button>
      </div>
      <div class="map">
        <canvas ref={map} />
      </div>
      <div
        class="canvas"
        ref={stage}
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes the keys of the timeline
        tabIndex={0}
        aria-label="Calls of each thread over time. W, A, S and D move; Enter chooses a call, arrow keys step from call to call."
      >
        <canvas ref={canvas} />
        {hover && <Tip spot={hover.spot} x={hover.x} y={hover.y} name={nameOf(hover.spot.fn)} />}
      </div>
      {chosen.spot && <CallPanel spot={chosen.spot} info={info} nameOf={nameOf} />}
      {chosen.range && (
        <RangePanel
          number={number}
          range={chosen.range}
          info={info}
          nameOf={nameOf}
          close={() => timeline.current?.choose(null)}
        />
      )}
      {help && <Help close={() => setHelp(false)} />}
    </section>
  );
}

function Tip({ spot, x, y, name }: { spot: Spot; x: number; y: number; name: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = place.current;
    if (!box?.parentElement) return;
    const right = box.parentElement.clientWidth - box.offsetWidth - 8;
    const low = box.parentElement.clientHeight - box.offsetHeight - 8;
    box.style.left = `${Math.max(4, Math.min(x + 14, right))}px`;
    box.style.top = `${Math.max(4, Math.min(y + 18, low))}px`;
  });
  const many = spot.calls > 1;
  return (
    <div class="tip" ref={place} role="tooltip">
      <b>{name.length > 200 ? `${name.slice(0, 199)}…` : name}</b>
      <span>
        {many
          ? `and others: ${Math.round(spot.calls).toLocaleString("en")} calls in ${duration(spot.end - spot.start)}, running for ${duration(spot.busy)}`
          : `${duration(spot.end - spot.start)}${spot.bound > 0 ? ` ±${duration(spot.bound)}` : ""}`}
      </span>
    </div>
  );
}
