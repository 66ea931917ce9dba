// A name on one line. A cut name keeps its end.

interface Props {
  /** The module of a function, or the folders of a file: quieter, and the first to be cut. */
  lead?: string;
  name: string;
  title?: string;
}

export function Name({ lead, name, title }: Props) {
  return (
    <span class="whole" title={title}>
      <bdi dir="ltr">
        {lead && <span class="module">{lead}</span>}
        <span class="short">{name}</span>
      </bdi>
    </span>
  );
}
