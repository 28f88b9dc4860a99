import { expect, test } from 'vitest';
import { BUNDLE_MARK as QUERY_GUARD } from '../../src/core/queries/task-doubt.ts';
import { connect } from '../../src/client/index.ts';
import { BUNDLE_MARK } from '../../src/codec/failure-converter.ts';
import { FAILURE_CONVERTER_PATH, MarkingCodec } from '../../src/codec/with-codec.ts';
import { PAYLOAD_CONVERTER_MODULE } from '../../worker/bundle-workflows.ts';
import { createWorker, LonghaulPlugin } from '../../worker/index.ts';
import { key } from './payloads.ts';

const codec = { encryption: { activeKeyId: 'k1', keys: { k1: key(1) } } };
const plugin = new LonghaulPlugin({ agents: [], providers: {}, codec });
const encoding = { payloadCodecs: [expect.anything(), expect.anything()], failureConverterPath: FAILURE_CONVERTER_PATH };

test('a plugin gives its codec to worker, replay worker, client and bundle', () => {
  expect(plugin.configureWorker({ taskQueue: 'q' }).dataConverter).toMatchObject(encoding);
  expect(plugin.configureReplayWorker({}).dataConverter).toMatchObject(encoding);
  expect(plugin.configureClient({}).dataConverter).toMatchObject(encoding);
  expect(plugin.configureBundler({ workflowsPath: '/w.js' }).failureConverterPath).toBe(FAILURE_CONVERTER_PATH);
});

test('with a plugin, workers mark payloads that they cannot decode, and clients throw', () => {
  const areMarking = (codecs: readonly unknown[] = []): boolean[] => codecs.map((one) => one instanceof MarkingCodec);
  const worker = plugin.configureWorker({ taskQueue: 'q' });
  expect(areMarking(worker.dataConverter?.payloadCodecs)).toEqual([true, true]);
  expect(areMarking(plugin.configureReplayWorker({}).dataConverter?.payloadCodecs)).toEqual([true, true]);
  expect(areMarking(plugin.configureClient({}).dataConverter?.payloadCodecs)).toEqual([false, false]);
  const { dataConverter = {} } = worker;
  expect(areMarking(plugin.configureReplayWorker({ dataConverter }).dataConverter?.payloadCodecs)).toEqual([true, true]);
});

test('a bundle gets the converter that lets runs refuse data, unless the user has one', () => {
  expect(plugin.configureBundler({ workflowsPath: '/w.js' }).payloadConverterPath).toBe(PAYLOAD_CONVERTER_MODULE);
  expect(plugin.configureBundler({ workflowsPath: '/w.js', payloadConverterPath: '/mine.js' }).payloadConverterPath).toBe('/mine.js');
});

test('a plugin without encryption leaves failures unchanged', () => {
  const plain = new LonghaulPlugin({ agents: [], providers: {}, codec: { compression: true } });
  expect(plain.configureWorker({ taskQueue: 'q', workflowBundle: { code: QUERY_GUARD } }).dataConverter).not.toHaveProperty(
    'failureConverterPath',
  );
  expect(plain.configureBundler({ workflowsPath: '/w.js' })).not.toHaveProperty('failureConverterPath');
});

test('a worker that encrypts accepts only bundles with the failure converter', () => {
  expect(() => plugin.configureWorker({ taskQueue: 'q', workflowBundle: { code: QUERY_GUARD } })).toThrow(
    'bundleWorkflowCode({…, plugins: [plugin]})',
  );
  expect(plugin.configureWorker({ taskQueue: 'q', workflowBundle: { code: `${QUERY_GUARD} // ${BUNDLE_MARK}` } })).toHaveProperty(
    'workflowBundle',
  );
});

test('an unusable codec is refused before a connection is opened', async () => {
  const bad = { compression: { threshold: -1 } };
  const message = 'codec.compression.threshold is "-1"';
  expect(() => new LonghaulPlugin({ agents: [], providers: {}, codec: bad })).toThrow(message);
  await expect(connect({ address: '127.0.0.1:1', codec: bad })).rejects.toThrow(message);
  await expect(createWorker({ address: '127.0.0.1:1', agents: [], providers: {}, codec: bad })).rejects.toThrow(message);
});
