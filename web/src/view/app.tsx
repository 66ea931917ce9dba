/** The viewer: the list of recordings, and the timeline or the page of the chosen one. */
import { useEffect, useState } from "preact/hooks";
import type { Source } from "../data/calls.ts";
import { SourceText } from "../page/Source.tsx";
import { TraceView } from "../timeline/TraceView.tsx";
import { type Ending, getJson, type RecordingInfo, ServedTrace, type State } from "./client.ts";

const LOOK_MS = 1000;

type Tab = "timeline" | "report" | "changes";

export function App() {
  const [recordings, setRecordings] = useState<readonly RecordingInfo[] | null>(null);
  const [trouble, setTrouble] = useState("");
  const [at, setAt] = useState(0);
  const [tab, setTab] = useState<Tab>("timeline");
  const [beside, setBeside] = useState(-1);
  const [stretch, setStretch] = useState("");
  const open = (from: number, to: number) => {
    setStretch(`?from=${Math.round(from)}&to=${Math.round(to)}`);
    setTab("report");
  };
  const read = () => {
    getJson<RecordingInfo[]>("recordings").then(setRecordings, (error: Error) => setTrouble(error.message));
  };
  useEffect(read, []);
  const growth = useGrowth(at, recordings?.[at]);
  if (trouble) return <Message title="The recordings cannot be shown" text={trouble} />;
  if (!recordings) return <Message title="Reading …" text="" />;
  const shown = recordings[at]!;
  const others = recordings.flatMap((info, number) => (fits(tab, shown, info) && number !== at ? [number] : []));
  const other = others.includes(beside) ? beside : -1;
  const view: Tab = tab === "changes" && other >= 0 ? tab : shown.trace && tab !== "report" ? "timeline" : "report";
  return (
    <>
      <header class="top">
        <h1 class="mark">seismo</h1>
        <label class="pick">
          <span class="hidden">Recording</span>
          <select
            value={at}
            onChange={(event) => {
              setAt(Number(event.currentTarget.value));
              setStretch("");
            }}
          >
            {recordings.map((info, number) => (
              <option key={number} value={number}>
                {info.name}
              </option>
            ))}
          </select>
        </label>
        <span class="command" title={shown.command}>
          {shown.command}
        </span>
        {shown.live && <Standing ending={growth.ending} />}
        <nav aria-label="Views">
          {shown.trace && (
            <button type="button" aria-pressed={view === "timeline"} onClick={() => setTab("timeline")}>
              Timeline
            </button>
          )}
          <button
            type="button"
            aria-pressed={view === "report"}
            onClick={() => {
              setStretch("");
              setTab("report");
            }}
          >
            {shown.trace ? "Flame graph" : "Report"}
          </button>
          {other >= 0 && recordings[other]!.kind === shown.kind && shown.compares && (
            <button type="button" aria-pressed={view === "changes"} onClick={() => setTab("changes")}>
              Changes
            </button>
          )}
        </nav>
        {others.length > 0 && (
          <label class="pick">
            <span>beside</span>
            <select value={other} onChange={(event) => setBeside(Number(event.currentTarget.value))}>
              <option value={-1}>none</option>
              {others.map((number) => (
                <option key={number} value={number}>
                  {recordings[number]!.name}
                </option>
              ))}
            </select>
          </label>
        )}
      </header>
      {shown.losses.length > 0 && (
        <details class="losses">
          <summary>
            {shown.losses.length === 1 ? "One thing was" : `${shown.losses.length} things were`} lost or not seen
          </summary>
          <ul>
            {shown.losses.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
      {view === "timeline" ? (
        <main class="traces">
          <Trace key={at} number={at} live={shown.live} open={open} />
          {other >= 0 && <Trace key={`beside${other}`} number={other} live={recordings[other]!.live} />}
        </main>
      ) : view === "changes" ? (
        <main class="report">
          <iframe
            key={`${at} ${other}`}
            title={`Changes from ${shown.name} to ${recordings[other]!.name}`}
            src={`${at}/changes?with=${other}`}
            sandbox="allow-scripts"
          />
        </main>
      ) : (
        <main class="report">
          {shown.live && <Later grown={growth.grown} again={read} />}
          <iframe
            key={`${at} ${shown.version}`}
            title={`Report of ${shown.name}`}
            src={`${at}/page${stretch}`}
            sandbox="allow-scripts"
          />
          {other >= 0 && (
            <iframe
              key={`beside ${other}`}
              title={`Report of ${recordings[other]!.name}`}
              src={`${other}/page`}
              sandbox="allow-scripts"
            />
          )}
        </main>
      )}
    </>
  );
}

/** Return true if a recording can be shown beside another one in this view. */
function fits(tab: Tab, shown: RecordingInfo, other: RecordingInfo): boolean {
  return tab === "timeline" && shown.trace ? other.trace : true;
}

/** Return whether a live recording has grown since the shown version, and whether it still grows. */
function useGrowth(number: number, shown: RecordingInfo | undefined): Pick<State, "grown" | "ending"> {
  const [state, setState] = useState<Pick<State, "grown" | "ending"> | null>(null);
  const { live = false, version = 0 } = shown ?? {};
  useEffect(() => {
    setState(null);
    if (!live) return;
    const look = () => {
      getJson<State>(`${number}/state?version=${version}`).then(
        (found) => {
          const same = (known: typeof state) => known?.grown === found.grown && known.ending === found.ending;
          setState((known) => (same(known) ? known : found));
          if (found.ending === "ended") clearInterval(timer); // an ended recording does not grow
        },
        () => clearInterval(timer), // the server has ended
      );
    };
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [number, live, version]);
  return state ?? { grown: false, ending: shown?.ending ?? "" };
}

const ENDINGS = {
  "": ["live", "the program runs, and what it writes is shown"],
  ended: ["ended", "the program has ended, and its recording is whole"],
  stopped: ["stopped", "the program does not run any more, and did not write the end of its recording"],
} as const;

/** Shows if the program still runs. */
function Standing({ ending }: { ending: Ending }) {
  const [word, title] = ENDINGS[ending];
  return (
    <span class={ending ? "live over" : "live"} role="status" title={title}>
      {word}
    </span>
  );
}

/** Announces newer data, with a button that shows it. */
function Later({ grown, again }: { grown: boolean; again: () => void }) {
  return (
    <p class="later" role="status">
      {grown && (
        <>
          The program has gone on since.{" "}
          <button type="button" onClick={again}>
            Show what there is now
          </button>
        </>
      )}
    </p>
  );
}

function Trace({ number, live, open }: { number: number; live: boolean; open?: (from: number, to: number) => void }) {
  const [source, setSource] = useState<ServedTrace | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    ServedTrace.open(number).then(setSource, (error: Error) => setTrouble(error.message));
  }, [number]);
  if (trouble) return <Message title="The trace cannot be shown" text={trouble} />;
  if (!source) return <Message title="Reading …" text="" />;
  if (source.info.threads.length === 0) return <Message title="Nothing happened" text="The trace has no thread." />;
  const code = (fn: number) => <Code key={fn} source={source} fn={fn} />;
  return <TraceView source={source} live={live} code={code} {...(open ? { open } : {})} />;
}

/** The source of the chosen call's function. */
function Code({ source, fn }: { source: ServedTrace; fn: number }) {
  const [text, setText] = useState<Source | null>(null);
  useEffect(() => {
    const control = new AbortController();
    source.text(fn, control.signal).then(setText, () => {}); // a server that is gone is reported by the timeline
    return () => control.abort();
  }, [source, fn]);
  return text && <SourceText source={text} />;
}

function Message({ title, text }: { title: string; text: string }) {
  return (
    <main class="message" aria-live="polite">
      <h1>{title}</h1>
      <p>{text}</p>
    </main>
  );
}
