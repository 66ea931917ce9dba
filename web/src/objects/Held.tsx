// The holders of survivors as nested lists. An arrow points from an object to its holder, up to a module or a frame.

import { count, numberOf } from "../data/words.ts";

interface Holders {
  by: Holder[];
  left: number; // smaller ones that are not in the page
}

interface Holder extends Holders {
  count: number;
  words: string[]; // the holder, and the following ones that hold as many
  ending: string;
  root: boolean;
}

export interface HeldHead {
  asked: number;
  more: number;
  kinds: (Holders & { type: string; place: string; live: number; asked: number })[];
}

export function Held({ held }: { held: HeldHead }) {
  return (
    <div class="held">
      {held.kinds.map((kind, at) => (
        <details key={at} open={at < 6}>
          <summary>
            <b>{count(kind.live)}</b> <bdi class="group">{kind.type}</bdi> <bdi class="place">{kind.place}</bdi>{" "}
            {kind.asked < kind.live && <span class="quiet">({count(kind.asked)} of them asked)</span>}
          </summary>
          <List of={kind} />
        </details>
      ))}
      {held.more > 0 && <p class="quiet">{numberOf(held.more, "more kind")} of survivors not shown.</p>}
    </div>
  );
}

function List({ of }: { of: Holders }) {
  if (!of.by.length) return null;
  return (
    <ul>
      {of.by.map((holder, at) => (
        <li key={at}>
          <b>{count(holder.count)}</b>
          {holder.words.map((words, link) => (
            <span key={link} class={holder.root && link === holder.words.length - 1 ? "link root" : "link"}>
              {" ← "}
              <bdi>{words}</bdi>
            </span>
          ))}
          {holder.ending && <span class="quiet"> ({holder.ending})</span>}
          <List of={holder} />
        </li>
      ))}
      {of.left > 0 && <li class="quiet">{numberOf(of.left, "other holder")}</li>}
    </ul>
  );
}
