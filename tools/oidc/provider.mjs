// An OpenID provider for tests: oidc-provider with one client, and people from a file that is read at each question.
//
//   node provider.mjs CONFIG.json     {port, client, secret, redirects, people, userinfo, logout}
//
// Prints its issuer once it listens, on any port where that is 0. SIGHUP replaces its keys; what it has issued stays. SIGTERM ends it.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Provider from "oidc-provider";
import MemoryAdapter from "./node_modules/oidc-provider/lib/adapters/memory_adapter.js";

const config = JSON.parse(readFileSync(process.argv[2], "utf8"));
let issuer;

/** Another class than the default's has one memory for all providers of the process. */
class Kept extends MemoryAdapter {}

/** People by what they type as their login: {sub, preferred_username, groups}. */
const person = (id) => JSON.parse(readFileSync(config.people, "utf8"))[id];

function key() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
}

function provider() {
  const made = new Provider(issuer, {
    adapter: Kept,
    clients: [
      {
        client_id: config.client,
        client_secret: config.secret,
        redirect_uris: config.redirects,
        grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        response_types: ["code"],
        // Where log-outs are sent to, if they are.
        ...(config.logout && { backchannel_logout_uri: config.logout, backchannel_logout_session_required: true }),
      },
    ],
    jwks: { keys: [key()] },
    claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
    // Where this is true, groups and name are at the userinfo endpoint alone.
    conformIdTokenClaims: config.userinfo === true,
    findAccount: (_, id) => {
      const who = person(id);
      return who && { accountId: id, claims: () => ({ ...who, sub: id }) };
    },
    pkce: { required: () => true },
    features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
    // The default refuses addresses of the loopback, and waits 2.5 s.
    fetch: (url, { method, headers, body, redirect }) => fetch(url, { method, headers, body, redirect }),
    cookies: { keys: ["a key of tests"] },
    ttl: { AccessToken: 3600, IdToken: 3600, Grant: 86400, Session: 86400, Interaction: 3600, DeviceCode: 600, RefreshToken: 86400 },
  });
  return made.callback();
}

let handle;
const server = createServer((request, answer) => handle(request, answer));
process.on("SIGHUP", () => {
  handle = provider();
  console.log("rotated");
});
process.on("SIGTERM", () => process.exit(0));
server.listen(config.port, "127.0.0.1", () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  handle = provider();
  console.log(issuer);
});
