// The head of a page: what ran, how long it took, and what was lost; the rest of what is known unfolds.

interface Props {
  title: string;
  facts: [string, string][];
}

const FIRST = ["time", "waiting", "calls"]; // always in sight

export function Facts({ title, facts }: Props) {
  const lost = facts.filter(([label, text]) => label === "lost" && text !== "nothing");
  const first = facts.filter(([label]) => FIRST.includes(label));
  return (
    <header class="facts">
      <h1>
        <bdi>{title}</bdi>
      </h1>
      <details>
        <summary>
          {first.map(([label, text]) => (
            <span class="fact" key={label}>
              <b>{label}</b> {text}
            </span>
          ))}
          {lost.length > 0 && <span class="fact warn">something was lost</span>}
          <span class="more">about this recording</span>
        </summary>
        <dl>
          {facts.map(([label, text], at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the facts never change
            <div key={at} class={label === "lost" && text !== "nothing" ? "warn" : ""}>
              <dt>{label}</dt>
              <dd>
                <bdi>{text}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </header>
  );
}
