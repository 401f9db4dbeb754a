// A refusal of the circuit service, which is a detail of its error.
import { ConnectError } from "@connectrpc/connect";
import { errorText } from "../api/errors";
import { type Refusal, RefusalSchema } from "../gen/millrace/circuits/v1/circuits_pb";

/** Why the service refused; undefined where it is an error of another kind. */
export const refusalOf = (reason: unknown): Refusal | undefined =>
  ConnectError.from(reason).findDetails(RefusalSchema)[0];

/** Makes a call; returns in one line why it failed. */
export async function failureOf(call: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (reason) {
    return errorText(reason);
  }
}
