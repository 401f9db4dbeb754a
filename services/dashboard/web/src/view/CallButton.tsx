import type { ButtonHTMLAttributes } from "react";
import type { Call } from "../model/permissions";
import { useRefusal } from "../state/hooks";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** What it leads to, such as ChangeService.method.approve. */
  call: Call;
}

/** A button for those whose login may make its call; for others it is disabled, and its title says why. */
export function CallButton({ call, disabled, title, ...rest }: Props) {
  const refusal = useRefusal(call);
  return <button type="button" {...rest} disabled={disabled || refusal !== undefined} title={refusal ?? title} />;
}
