// The page at /v1/docs/: every call of the circuit service's REST API, which can be tried there. It is Swagger UI from
// this server; nothing is loaded from, or sent to, other servers.
import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";

SwaggerUI({
  url: "/v1/openapi.json",
  dom_id: "#api",
  // Swagger UI would otherwise send the document's address to the project's own validator.
  validatorUrl: null,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
});
