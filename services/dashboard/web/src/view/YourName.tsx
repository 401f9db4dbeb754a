import { Labelled } from "./Labelled";

interface Props {
  by: string;
  onBy: (by: string) => void;
}

/** Who asks for something: where people log in, the service writes their own name over it. */
export function YourName({ by, onBy }: Props) {
  return (
    <Labelled name="Your name">
      {(id) => (
        <input id={id} autoComplete="username" maxLength={60} value={by} onChange={(e) => onBy(e.target.value)} />
      )}
    </Labelled>
  );
}
