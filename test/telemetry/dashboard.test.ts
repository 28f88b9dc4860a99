import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { recordedLabels } from '../../site/reference/recorded-labels.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { METRICS } from '../../src/telemetry/names.ts';
import { prometheusMetrics } from '../../src/telemetry/prometheus.ts';

const text = (file: string): string => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');

interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { expr: string }[];
}

const { panels } = JSON.parse(text('docs/grafana/longhaul.json')) as { panels: Panel[] };

/** Metrics without a panel, each with the reason. */
const WITHOUT_PANEL: Readonly<Record<string, string>> = {};

/** Returns the name of each metric in Prometheus: all of them are on the page before anything is measured. */
function prometheusNames(): string[] {
  const page = prometheusMetrics();
  void new Metrics(page);
  return page
    .text()
    .split('\n')
    .flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
}

test('each metric is in a panel of the dashboard, or has a reason why not', () => {
  const names = prometheusNames();
  expect(names).toHaveLength(Object.keys(METRICS).length);
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n');
  const isShown = (name: string): boolean => new RegExp(`\\b${name}(_bucket|_sum|_count)?\\b`).test(queries);
  expect(names.filter((name) => !isShown(name) && WITHOUT_PANEL[name] === undefined)).toEqual([]);
  expect(Object.keys(WITHOUT_PANEL).filter((name) => !names.includes(name) || isShown(name))).toEqual([]);
});

test('no panel covers another one, and each has its own id', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length);
});

test('each metric has a row on the page about telemetry, and its labels in the reference', () => {
  const rows = text('docs/telemetry.md');
  const labels = recordedLabels();
  for (const name of Object.values(METRICS)) {
    const end = name.replace('gen_ai.client.inference.usage', '…').replace('gen_ai.invoke_agent', '…');
    expect([name, rows.includes(`\`${name}\``) || rows.includes(`\`${end}\``)]).toEqual([name, true]);
    expect(labels.has(name), `${name}: measure it once in site/reference/recorded-labels.ts`).toBe(true);
  }
});
