import { Metrics } from '../../src/telemetry/metrics.ts';
import type { MeterProvider } from '../../src/telemetry/provider.ts';

/** Returns the labels with which each metric is recorded, by its name: each measurement is made once, and what arrives is kept. */
export function recordedLabels(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const keep =
    (name: string) =>
    (_: number, labels: object = {}): void =>
      void found.set(name, [...new Set([...(found.get(name) ?? []), ...Object.keys(labels)])]);
  const provider: MeterProvider = {
    getMeter: () => ({
      createCounter: (name) => ({ add: keep(name) }),
      createHistogram: (name) => ({ record: keep(name) }),
      createGauge: (name) => ({ record: keep(name) }),
    }),
  };
  const metrics = new Metrics(provider);
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2, cachedTokens: 1, cacheWriteTokens: 1, reasoningTokens: 1 };
  metrics.modelCall({ model: 'p/m', agent: 'a', seconds: 1, firstChunkSeconds: 1, usage, dollars: 1, code: 'c' });
  metrics.toolCall({ tool: 't', agent: 'a', seconds: 1, code: 'c' });
  metrics.runStarted('a');
  metrics.runEnded({ agent: 'a', status: 's', stopReason: 'r' });
  metrics.answered({ agent: 'a', isWorkflow: false, seconds: 1, modelCalls: 1, toolCalls: 1, dollars: 1, code: 'c' });
  metrics.fallback({ from: 'p/m', to: 'p/n', code: 'c' });
  metrics.governorPermit({ provider: 'p', seconds: 1, source: 'lent' });
  metrics.governorRefused('p');
  metrics.governorHeld('p', 1);
  metrics.batches('p', { waiting: 1, open: 1 });
  metrics.batchEnded('p', 1);
  metrics.cacheLost('p/m');
  metrics.streamDropped(1);
  metrics.outcomeUnknown({ tool: 't', agent: 'a' });
  metrics.storeFailed('archive');
  metrics.approvalsWaiting(1);
  metrics.request({ method: 'GET', route: '/', status: 200, seconds: 1 });
  metrics.dropped(1);
  return found;
}
