// The page at /v1/docs/: every call of the circuit service's REST API, which can be tried there. It is Swagger UI from
// this server; nothing is loaded from, or sent to, anybody else.
import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";

SwaggerUI({
  url: "/v1/openapi.json",
  dom_id: "#api",
  // The project's own validator would be asked about documents that it can reach.
  validatorUrl: null,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
});
