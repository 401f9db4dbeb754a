import type { PredictResponse } from "../gen/millrace/twin/v1/twin_pb";
import { predictedClasses } from "../model/prediction";

/** What each class of traffic would get, where the author of the change set requested it. */
export function PredictionTable({ prediction }: { prediction: PredictResponse | undefined }) {
  if (!prediction) return null;
  const rows = predictedClasses(prediction);
  return (
    <section className="prediction" data-testid="prediction">
      <h4>Predicted effect</h4>
      {rows.length > 0 && (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th>Port</th>
                <th>Queue</th>
                <th className="num">Offered</th>
                <th className="num">Carried</th>
                <th className="num">Loss</th>
                <th className="num">Delay, mean / p99</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((r) => (
                <tr key={`${r.port} ${r.queue}`}>
                  <td>{r.port}</td>
                  <td>{r.queue}</td>
                  <td className="num">{r.offered}</td>
                  <td className="num">{r.carried}</td>
                  <td className={r.suffers ? "num problem" : "num"}>{r.loss}</td>
                  <td className="num">{r.delay}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <ul className="dim">
        {prediction.assumptions.map((a) => (
          <li key={a}>{a}</li>
        ))}
      </ul>
    </section>
  );
}
