// The page of calls.

import { useMemo, useState } from "preact/hooks";
import { Facts } from "../chrome/Facts.tsx";
import { type CallsHead, Functions } from "../data/calls.ts";
import type { Payload } from "../data/payload.ts";
import { columns } from "../table/functions.ts";
import { Table } from "../table/Table.tsx";

export function CallsPage({ payload }: { payload: Payload<CallsHead> }) {
  const { head } = payload;
  const functions = useMemo(() => new Functions(head, payload), [payload]);
  const [selected, select] = useState(-1);
  const { times } = head;
  const shown = useMemo(() => columns(functions, times), [functions, times]);
  return (
    <>
      <Facts title={head.title} facts={head.facts} />
      <main>
        <Table {...{ functions, times, selected, select }} columns={shown} matches={null} />
      </main>
    </>
  );
}
