// The lifetimes of a type: deaths by age, with a bar for each bucket. A bucket is four times as wide as the previous
// one.

import { count, duration, numberOf } from "../data/words.ts";

export interface Life {
  type: string;
  live: number;
  ns: number[];
  births: number[];
}

export function Lives({ lives }: { lives: Life[] }) {
  const size = Math.max(...lives.map((life) => Math.max(life.ns.length, life.births.length)));
  return (
    <div class="lives">
      {lives.map((life) => (
        <div key={life.type} class="life">
          <h3>
            <bdi>{life.type}</bdi>
          </h3>
          <Bars title="age in time" buckets={life.ns} live={life.live} size={size} age={inTime} />
          <Bars title="age in births" buckets={life.births} live={life.live} size={size} age={inBirths} />
        </div>
      ))}
    </div>
  );
}

const range = (bucket: number) => [bucket ? 4 ** (bucket - 1) : 0, 4 ** bucket];
const inTime = (bucket: number) => `${duration(range(bucket)[0])} to ${duration(range(bucket)[1])}`;
const inBirths = (bucket: number) =>
  bucket ? `${count(range(bucket)[0])} to ${count(range(bucket)[1] - 1)} births` : "none born meanwhile";

interface BarsProps {
  title: string;
  buckets: number[];
  live: number;
  size: number;
  age(bucket: number): string;
}

function Bars({ title, buckets, live, size, age }: BarsProps) {
  const most = Math.max(1, live, ...buckets);
  const died = buckets.reduce((sum, one) => sum + one, 0);
  const top = buckets.indexOf(Math.max(0, ...buckets));
  const height = (number: number) => (number ? `${Math.max(4, (100 * number) / most)}%` : "0");
  const label = `${title}: ${numberOf(died, "death")}${died ? `, most at ${age(top)}` : ""}; ${count(live)} live on`;
  return (
    <div class="bars-row">
      <div class="bars" role="img" aria-label={label}>
        {Array.from({ length: size }, (_, bucket) => (
          <span key={bucket} title={buckets[bucket] ? `${age(bucket)}: ${count(buckets[bucket])}` : ""}>
            <span style={{ height: height(buckets[bucket] ?? 0) }} />
          </span>
        ))}
        <span class="on" title={`alive at the end: ${count(live)}`}>
          <span style={{ height: height(live) }} />
        </span>
      </div>
      <p>
        {title}
        {died > 0 && `, most ${age(top)}`}
      </p>
    </div>
  );
}
