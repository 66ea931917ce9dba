/**
 * The requests of the viewer, which src/seismo/view/routes.py answers. Addresses are relative to the page's, which
 * holds the token.
 */
import type { Source } from "../data/calls.ts";
import { type Payload, unpack } from "../data/payload.ts";
import type { Spot } from "../timeline/scene.ts";
import type { FoundCall, Growth, ProgramEvents, RangeSums, TraceInfo, TraceSource } from "../timeline/source.ts";
import { type Rows, rowsOf } from "../timeline/tiles.ts";
import type { ProcessInfo, ThreadInfo } from "../timeline/tracks.ts";

/** The end of the program: regular, without a written end, or "" if it may still run. */
export type Ending = "ended" | "stopped" | "";

export interface RecordingInfo {
  readonly name: string;
  readonly command: string;
  readonly kind: string;
  readonly what: string;
  readonly trace: boolean;
  /** True if there is a page of changes between two of this kind. */
  readonly compares: boolean;
  readonly live: boolean;
  readonly ending: Ending;
  readonly version: number;
  readonly facts: readonly (readonly [string, string])[];
  readonly losses: readonly string[];
}

/** The growth of a live recording. sizes: its functions, threads and named threads, or empty if it is no trace. */
export interface State {
  readonly version: number;
  readonly grown: boolean;
  readonly ending: Ending;
  readonly to: number;
  readonly sizes: readonly number[];
}

interface TraceAnswer {
  readonly version: number;
  readonly sizes: readonly number[];
  readonly steps: number;
  readonly from: number;
  readonly to: number;
  readonly processes: readonly ProcessInfo[];
  readonly threads: readonly ThreadInfo[];
  readonly names: readonly string[];
  readonly modules: readonly string[];
  readonly places: readonly string[];
  readonly kinds: readonly number[];
  readonly foreign: readonly number[];
  readonly waits: string;
}

const MOST_THREADS = 64; // threads in the sums of a range

async function answered(path: string, signal?: AbortSignal): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { cache: "no-store", ...(signal ? { signal } : {}) });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Error("seismo view does not answer any more: start it again, and open the address that it prints");
  }
  if (!answer.ok) throw new Error((await answer.text()) || `the server answered ${answer.status}`);
  return answer;
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await answered(path, signal)).json()) as T;
}

async function getColumns(path: string, signal?: AbortSignal): Promise<Payload<unknown>> {
  return unpack(new Uint8Array(await (await answered(path, signal)).arrayBuffer()));
}

function infoOf(found: TraceAnswer): TraceInfo {
  const { waits } = found;
  return { ...found, waits: (node) => waits[node] === "1" };
}

/** A trace that the server reads. */
export class ServedTrace implements TraceSource {
  info: TraceInfo;
  readonly steps: number;
  private version: number;
  private sizes: readonly number[];

  private constructor(
    private readonly number: number,
    found: TraceAnswer,
  ) {
    this.info = infoOf(found);
    this.steps = found.steps;
    this.version = found.version;
    this.sizes = found.sizes;
  }

  static async open(number: number): Promise<ServedTrace> {
    return new ServedTrace(number, await getJson<TraceAnswer>(`${number}/trace`));
  }

  async rows(
    from: number,
    to: number,
    columns: number,
    threads: readonly number[],
    signal: AbortSignal,
  ): Promise<Rows> {
    const path = `${this.number}/rows?from=${from}&to=${to}&columns=${columns}&threads=${threads.join(",")}`;
    return rowsOf(await getColumns(path, signal), from, to);
  }

  async density(columns: number): Promise<Float64Array> {
    return Float64Array.from((await getColumns(`${this.number}/density?columns=${columns}`)).column("calls"));
  }

  events(from: number, to: number): Promise<ProgramEvents> {
    return getJson<ProgramEvents>(`${this.number}/events?from=${Math.floor(from)}&to=${Math.floor(to)}`);
  }

  async whole(part: Spot, at: number): Promise<Spot | null> {
    const place = `thread=${part.thread}&depth=${part.depth}&at=${Math.round(at)}`;
    return (await getJson<{ row: Spot | null }>(`${this.number}/call?${place}`)).row;
  }

  range(from: number, to: number, signal: AbortSignal): Promise<RangeSums> {
    const threads = [...this.info.threads.keys()].slice(0, MOST_THREADS);
    const stretch = `from=${Math.round(from)}&to=${Math.round(to)}`;
    return getJson<RangeSums>(`${this.number}/range?${stretch}&threads=${threads.join(",")}`, signal);
  }

  find(functions: readonly number[], from: number, back: boolean): Promise<FoundCall> {
    return getJson<FoundCall>(
      `${this.number}/find?functions=${functions.join(",")}&from=${Math.round(from)}&back=${back ? 1 : 0}`,
    );
  }

  /** The source of a function, or null for one of C. */
  text(fn: number, signal: AbortSignal): Promise<Source | null> {
    return getJson<Source | null>(`${this.number}/source?function=${fn}`, signal);
  }

  async grown(): Promise<Growth | null> {
    const state = await getJson<State>(`${this.number}/state?version=${this.version}`);
    if (!state.grown) return null;
    const changed = state.sizes.map((size, at) => size !== this.sizes[at]);
    const moreThreads = changed.slice(1).includes(true); // a thread may get its name later
    if (changed.includes(true)) this.info = infoOf(await getJson<TraceAnswer>(`${this.number}/trace`));
    else this.info = { ...this.info, to: state.to };
    this.version = state.version;
    this.sizes = state.sizes;
    return { to: state.to, moreThreads };
  }
}
