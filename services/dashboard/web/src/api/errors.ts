import { Code, ConnectError } from "@connectrpc/connect";

/** Turns whatever was thrown into one line an operator can act on. */
export function errorText(reason: unknown): string {
  const error = ConnectError.from(reason);
  switch (error.code) {
    case Code.Unimplemented:
      return "this service does not run behind the gateway";
    case Code.Unknown:
    case Code.Unavailable:
      return error.rawMessage || "no answer";
    default:
      return error.rawMessage || error.message;
  }
}
