// The APIs of the services behind the gateway that served this page.
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { AlphaService } from "../gen/millrace/alpha/v1/alpha_pb";
import { AuditService } from "../gen/millrace/audit/v1/audit_pb";
import { CircuitsService } from "../gen/millrace/circuits/v1/circuits_pb";
import { EventService } from "../gen/millrace/event/v1/event_pb";
import { FlowCollectorService, FlowStoreService } from "../gen/millrace/flow/v1/flow_pb";
import { IdentityService } from "../gen/millrace/identity/v1/identity_pb";
import { PathsService } from "../gen/millrace/paths/v1/paths_pb";
import { ChangeService } from "../gen/millrace/push/v1/push_pb";
import { SplitService } from "../gen/millrace/split/v1/split_pb";
import { TelemetryCollectorService } from "../gen/millrace/telemetry/v1/telemetry_pb";
import { VpnService } from "../gen/millrace/vpn/v1/vpn_pb";

export type Api = ReturnType<typeof createApi>;

/** unauthenticated is called when a call is refused for want of a login, denied when the login may not make it. */
export function createApi(baseUrl: string, unauthenticated?: () => void, denied?: () => void) {
  const watch: Interceptor = (next) => async (request) => {
    try {
      return await next(request);
    } catch (reason) {
      const { code } = ConnectError.from(reason);
      if (code === Code.Unauthenticated) unauthenticated?.();
      // What is allowed is asked for by this call itself: asked again after its own refusal, it would never end.
      if (code === Code.PermissionDenied && request.method !== IdentityService.method.permissions) denied?.();
      throw reason;
    }
  };
  const transport = createConnectTransport({ baseUrl, useBinaryFormat: true, interceptors: [watch] });
  return {
    alpha: createClient(AlphaService, transport),
    audit: createClient(AuditService, transport),
    changes: createClient(ChangeService, transport),
    circuits: createClient(CircuitsService, transport),
    collector: createClient(FlowCollectorService, transport),
    identity: createClient(IdentityService, transport),
    events: createClient(EventService, transport),
    paths: createClient(PathsService, transport),
    split: createClient(SplitService, transport),
    store: createClient(FlowStoreService, transport),
    telemetry: createClient(TelemetryCollectorService, transport),
    vpn: createClient(VpnService, transport),
    papers: (signal: AbortSignal) => file(`${baseUrl}/papers.json`, signal),
    replicas: (signal: AbortSignal) => file(`${baseUrl}/replicas`, signal),
    version: (signal: AbortSignal) => file(`${baseUrl}/version`, signal),
  };
}

/** What the gateway itself knows: results of the papers' experiments, its version, who leads; no service's API. */
async function file(url: string, signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`the gateway answered ${answer.status}`);
  return answer.json();
}
