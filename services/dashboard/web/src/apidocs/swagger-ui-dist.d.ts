// What is used of swagger-ui-dist, which has no types of its own.
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  export default function SwaggerUI(options: {
    url: string;
    dom_id: string;
    validatorUrl: string | null;
    tryItOutEnabled: boolean;
    defaultModelsExpandDepth: number;
  }): unknown;
}
