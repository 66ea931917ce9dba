// The page of a trace: its timeline, and the page of calls.

import { useMemo, useState } from "preact/hooks";
import { Choice, Theme } from "../chrome/controls.tsx";
import { Facts } from "../chrome/Facts.tsx";
import { useTheme } from "../chrome/keys.ts";
import { type CallsHead, Whose } from "../data/calls.ts";
import type { Payload } from "../data/payload.ts";
import { Graph } from "../flame/graph.ts";
import { PageTrace, type TraceHead } from "../timeline/PageTrace.ts";
import { TraceView } from "../timeline/TraceView.tsx";
import { CallsPage } from "./CallsPage.tsx";
import { Source } from "./Source.tsx";

/** trace: null if the trace is too long for a page, undefined for other recordings. */
type Head = CallsHead & { trace?: TraceHead | null };
type View = "timeline" | "calls";

const VIEWS: [View, string, string][] = [
  ["timeline", "Timeline", "every call in time"],
  ["calls", "Flame graph", "all calls summed up"],
];

export function TracePage({ payload }: { payload: Payload<Head> }) {
  const { head } = payload;
  const [view, setView] = useState<View>(head.trace ? "timeline" : "calls");
  const [, changed] = useTheme();
  const graph = useMemo(() => new Graph(head, payload), [payload]);
  const source = useMemo(() => {
    if (!head.trace) return null;
    const whose = payload.column("f.whose");
    return new PageTrace(head.trace, payload, {
      names: head.names,
      modules: head.modules,
      places: head.files.map(
        (file, fn) => `${file}${payload.column("f.line")[fn] ? `:${payload.column("f.line")[fn]}` : ""}`,
      ),
      kinds: payload.column("f.kind"),
      foreign: whose.map((one) => Number(one === Whose.Installed || one === Whose.Standard)),
    });
  }, [payload]);
  if (head.trace === undefined) return <CallsPage payload={payload} />;
  const tabs = <Choice name="tab" label="show" value={view} choices={VIEWS} choose={(one) => setView(one)} />;
  if (view === "calls") {
    return (
      <>
        <div class="tabs">{tabs}</div>
        <CallsPage payload={payload} />
      </>
    );
  }
  return (
    <>
      <div class="tabs">{tabs}</div>
      <Facts title={head.title} facts={head.facts}>
        <Theme changed={changed} />
      </Facts>
      {source ? (
        <main class="timeline">
          <TraceView source={source} code={(fn) => <Source graph={graph} fn={fn} />} />
        </main>
      ) : (
        <main class="state">
          <h1>This trace is too long for a page</h1>
          <p>
            <code>seismo view FILE</code> shows the timeline of a trace of any size.
          </p>
        </main>
      )}
    </>
  );
}
