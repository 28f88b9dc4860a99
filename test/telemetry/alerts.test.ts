import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const promtool = spawnSync('promtool', ['--version']).status === 0;

/** Returns the path of a file of this repository. */
const path = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

interface Rule {
  alert: string;
  for?: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string };
}

const { groups } = parse(readFileSync(path('docs/grafana/alerts.yml'), 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

test.skipIf(!promtool)('the alerts fire when they should, by promtool, which the package "prometheus" of Debian has', () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', path('test/telemetry/alerts.test.yml')], { encoding: 'utf8' });
  expect(`${stdout}${stderr}`).not.toContain('FAILED');
  expect(status).toBe(0);
});

test('failing models are known well before a run ends, whose calls are tried for 10 minutes by default', () => {
  const rule = rules.find(({ alert }) => alert === 'LonghaulModelCallsFail');
  expect(rule?.for).toBe('2m');
  expect(rule?.expr).toMatch(/\[2m\]/);
});

test('each alert has another name, a severity and a sentence', () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { labels, annotations } of rules) {
    expect(['page', 'ticket']).toContain(labels.severity);
    expect(annotations.summary.length).toBeGreaterThan(20);
  }
});
