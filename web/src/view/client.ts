/** What the viewer asks its server: src/seismo/view/answers.py has the other side. Addresses are relative to the page's,
 * which holds the token. */
import type { Instant } from "../timeline/draw.ts";
import type { ProcessInfo, ThreadInfo } from "../timeline/tracks.ts";

export interface RecordingInfo {
  readonly name: string;
  readonly command: string;
  readonly kind: string;
  readonly what: string;
  readonly trace: boolean;
  readonly live: boolean;
  readonly facts: readonly (readonly [string, string])[];
  readonly losses: readonly string[];
}

export interface TraceInfo {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly processes: readonly ProcessInfo[];
  readonly threads: readonly ThreadInfo[];
  readonly functions: {
    readonly name: readonly string[];
    readonly module: readonly string[];
    readonly file: readonly string[];
    readonly line: readonly number[];
    readonly kind: readonly number[];
    readonly foreign: readonly number[];
  };
  readonly waits: string;
}

export interface Said {
  readonly instants: readonly Instant[];
  readonly left: number;
  readonly gaps: readonly { thread: number; start: number; end: number }[];
}

export interface RangeSums {
  readonly from: number;
  readonly to: number;
  readonly estimated: boolean;
  readonly left: number;
  readonly parent: readonly number[];
  readonly function: readonly number[];
  readonly calls: readonly number[];
  readonly total: readonly number[];
  readonly own: readonly number[];
}

export interface FoundCall {
  readonly row: {
    thread: number;
    depth: number;
    start: number;
    end: number;
    bound: number;
    busy: number;
    fn: number;
    node: number;
    calls: number;
    flags: number;
  } | null;
  readonly to: number;
  readonly done: boolean;
}

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

export async function getBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await answered(path, signal)).arrayBuffer();
}
