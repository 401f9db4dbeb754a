// What a login may do, as IdentityService.Permissions says it before anything is asked for.
import type { Permission } from "../gen/millrace/identity/v1/identity_pb";
import { Role } from "../gen/millrace/rights/v1/rights_pb";

/** How a role is shown. */
export const roleName = (role: Role): string => (Role[role] ?? "").toLowerCase();

/** A call of a service's descriptor, such as ChangeService.method.approve. */
export interface Call {
  name: string;
  parent: { typeName: string };
}

export const procedureOf = ({ name, parent }: Call): string => `/${parent.typeName}/${name}`;

/** Why calls are refused to a login of a role, by procedure; what is not in it may be called. */
export function refusalsOf(
  calls: readonly Pick<Permission, "procedure" | "needs" | "refused">[],
  role: Role,
): ReadonlyMap<string, string> {
  const refused = calls.filter((c) => c.refused !== "");
  return new Map(
    refused.map((c) => [
      c.procedure,
      c.needs > role ? `Needs the role ${roleName(c.needs)}; you are ${roleName(role)}` : c.refused,
    ]),
  );
}
