/** The viewer: which recordings there are, and the timeline or the page of the one that is looked at. */
import { useEffect, useState } from "preact/hooks";
import { TraceView } from "../timeline/TraceView.tsx";
import { getJson, type RecordingInfo, ServedTrace, type State } from "./client.ts";

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
        {shown.live && <span class="live">live</span>}
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
          {shown.live && <Later key={at} number={at} version={shown.version} again={read} />}
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

/** Whether a recording can be shown beside another one, in this view. */
function fits(tab: Tab, shown: RecordingInfo, other: RecordingInfo): boolean {
  return tab === "timeline" && shown.trace ? other.trace : true;
}

/** Of a recording that is written: says that there is more than the report shows, and shows it if that is wanted. */
function Later({ number, version, again }: { number: number; version: number; again: () => void }) {
  const [more, setMore] = useState(false);
  useEffect(() => {
    setMore(false);
    const timer = setInterval(() => {
      getJson<State>(`${number}/state?version=${version}`).then(
        (state) => setMore(state.grown),
        () => clearInterval(timer), // the server has ended: so has the following
      );
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [number, version]);
  return (
    <p class="later" role="status">
      {more && (
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
  return <TraceView source={source} live={live} {...(open ? { open } : {})} />;
}

function Message({ title, text }: { title: string; text: string }) {
  return (
    <main class="message" aria-live="polite">
      <h1>{title}</h1>
      <p>{text}</p>
    </main>
  );
}
