import { describe, expect, it } from 'vitest';
import { reportOf } from '../../bench/comparison/peer-report.ts';
import { peerTable } from '../../bench/comparison/peer-page.ts';
import { contentBytes } from '../../bench/script/scripted-run.ts';
import { historyOf, latencyOf, phaseOf, sampleOf } from './peer-samples.ts';

const killed = { type: 'killed', step: 2, reason: 'too long' } as const;
const long = phaseOf('long results', {
  longhaul: [8, 9, 7].map((ms) => sampleOf(ms, { history: historyOf(1_000), latency: latencyOf(ms, { msPerCallLast20: 1.05 * ms }) })),
  loop: [7, 7, 7].map((ms) => sampleOf(ms, { history: historyOf(90) })),
  'openai-agents': [16, 16, 16].map((ms) => sampleOf(ms, { history: historyOf(9_000) })),
  'ai-sdk': [15, 12, 20].map((ms) => sampleOf(ms, { history: { ...historyOf(9_000), stepBytes: [9_000] }, ending: killed })),
});
const short = phaseOf('short results', { longhaul: [sampleOf(6)] }, { resultChars: 20 });
const together = phaseOf('at once', { longhaul: [sampleOf(4)], 'openai-agents': [sampleOf(9)], 'ai-sdk': [sampleOf(10)] }, { atOnce: 20 });
const compressed = phaseOf('compressed', { longhaul: [sampleOf(8, { history: historyOf(40) })] }, { codec: 'zstd' });
const report = reportOf([long, short, together, compressed]);

describe('the report of the comparison', () => {
  it('takes medians over the rounds', () => {
    expect(report.latency.longhaul).toMatchObject({ msPerCallP50: 8, msPerCallRange: [7, 9], growth: 1.05, cpuMsPerCall: 4 });
    expect(report.latency['ai-sdk']).toMatchObject({ msPerCallP50: 15 });
    expect(report.atOnce.longhaul).toEqual({ callsPerSecond: 250, callsPerSecondRange: [250, 250], cpuMsPerCall: 2 });
  });

  it('compares a history with the content of the steps that the run finished', () => {
    expect(report.history.longhaul?.amplification).toBeCloseTo(3_100 / contentBytes(2, 50), 2);
    expect(report.history['ai-sdk']).toMatchObject({ ending: killed, contentBytes: contentBytes(1, 50) });
    expect(report.variants).toMatchObject([{ codec: 'zstd', resultChars: 50, historyBytes: 220 }]);
  });

  it('compares Longhaul with the better plugin of each figure', () => {
    const bounds = Object.fromEntries(report.bounds.map(({ figure, value, met }) => [figure, [value, met]]));
    expect(bounds['milliseconds per call, of the better plugin’s']).toEqual([0.53, true]);
    expect(bounds['milliseconds per call, of the loop’s by reference']).toEqual([1.14, true]);
    expect(bounds['calls per second at once, of the better plugin’s']).toEqual([2.25, true]);
    expect(bounds['worker CPU per call at once, of the better plugin’s']).toEqual([0.44, true]);
    expect(bounds['amplification']).toEqual([report.history.longhaul?.amplification, false]);
  });

  it('compares times within the same round', () => {
    const slowing = [1, 2, 4];
    const sides = {
      longhaul: slowing.map((slow) => sampleOf(8 * slow, { history: historyOf(10) })),
      loop: slowing.map((slow) => sampleOf(7 * slow, { history: historyOf(10) })),
    };
    const { bounds } = reportOf([phaseOf('long results', sides), short, together]);
    expect(bounds.find(({ figure }) => figure.includes('loop'))).toMatchObject({ value: 1.14, range: [1.14, 1.14], met: true });
  });

  it('leaves out the bounds of values that were not measured', () => {
    const alone = reportOf([
      phaseOf('long results', { longhaul: [sampleOf(8, { history: historyOf(10) })] }),
      short,
      phaseOf('at once', { longhaul: [sampleOf(4)] }),
    ]);
    expect(alone.bounds.map(({ figure }) => figure)).toEqual(['amplification', 'milliseconds per call, last 20 steps of the first 20']);
    expect(() => reportOf([long, short])).toThrow('"at once" was not measured');
  });
});

describe('the table of the comparison', () => {
  const lines = peerTable(report).split('\n');
  const rowsOf = (label: string): string[] => lines.filter((line) => line.startsWith(`| ${label} |`));

  it('has a row for each side that was measured, in each part', () => {
    expect(rowsOf('Longhaul')).toHaveLength(4);
    expect(rowsOf('loop by reference')).toHaveLength(2);
    expect(rowsOf('loop by value')).toHaveLength(0);
  });

  it('shows a run that the server ended as a result', () => {
    expect(rowsOf('@temporalio/ai-sdk')[0]).toContain('| killed at step 2 |');
    expect(rowsOf('@temporalio/ai-sdk')[1]).toContain('killed at step 2)');
    expect(rowsOf('@temporalio/openai-agents')[0]).toContain('| with its answer |');
  });

  it('has as many cells in each row as in its header', () => {
    const cells = lines.map((line) => (line.startsWith('|') ? line.split('|').length : 0));
    const uneven = cells.filter((count, line) => count !== 0 && (cells[line - 1] ?? 0) !== 0 && cells[line - 1] !== count);
    expect(uneven).toEqual([]);
  });

  it('lists the bounds that are not met', () => {
    expect(rowsOf('amplification')[0]).toMatch(/≤ 2.2 \| \*\*no\*\* \|$/);
    expect(rowsOf('milliseconds per call, of the better plugin’s')).toEqual([
      '| milliseconds per call, of the better plugin’s | **0.53** (0.44–0.75) | ≤ 0.75 | yes |',
    ]);
  });
});
