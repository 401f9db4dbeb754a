// Writes deploy/grafana/*.json, one file for each board of boards.ts, into the folder that is its argument.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DashboardBuilder, DatasourceVariableBuilder, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries';
import { type Board, type Panel, boards } from './boards.js';

const datasource = { type: 'prometheus', uid: '${datasource}' };

// width and height of a panel in Grafana's grid of 24 columns: two curves or four numbers side by side.
const size = { series: { span: 12, height: 8 }, number: { span: 6, height: 4 } };

function panel(p: Panel) {
  const { span, height } = size[p.number ? 'number' : 'series'];
  const built = p.number ? new Stat() : new TimeSeries().min(0).fillOpacity(10);
  built.title(p.title).description(p.says).unit(p.unit).datasource(datasource).span(span).height(height);
  p.queries.forEach(([expr, legend], i) => {
    built.withTarget(new DataqueryBuilder().refId(String.fromCharCode(65 + i)).expr(expr).legendFormat(legend));
  });
  return built;
}

function board(b: Board) {
  const built = new DashboardBuilder(`Millrace: ${b.title}`)
    .uid(`millrace-${b.name}`).description(b.says).tags(['millrace']).refresh('30s').time({ from: 'now-6h', to: 'now' }).timezone('browser')
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
  for (const row of b.rows) {
    built.withRow(new RowBuilder(row.title));
    row.panels.forEach((p) => built.withPanel(panel(p)));
  }
  return built.build();
}

const folder = process.argv[2];
if (folder === undefined) {
  throw new Error('usage: node build.js FOLDER');
}
mkdirSync(folder, { recursive: true });
for (const b of boards) {
  writeFileSync(join(folder, `${b.name}.json`), `${JSON.stringify(board(b), null, 2)}\n`);
}
