import { answerRequests, readSetting } from '../../test/processes/program.ts';
import { OtlpReceiver } from '../../test/telemetry/otlp-receiver.ts';
import { traceProblems } from '../../test/telemetry/trace-problems.ts';
import type { CollectorReply, CollectorRequest } from '../telemetry.ts';

/** A collector of spans, alone in its process: its work is not a cost of the worker that sends them. */

readSetting();
const receiver = await OtlpReceiver.listen();
answerRequests<CollectorRequest, CollectorReply>({
  where: () => ({ type: 'where', url: receiver.url }),
  check: () => {
    const { spans } = receiver;
    const ids = new Set(spans.map(({ traceId, spanId }) => `${traceId}/${spanId}`));
    const orphans = traceProblems(spans).filter((line) => line.includes('has no parent')).length;
    return { type: 'checked', spans: spans.length, orphans, duplicates: spans.length - ids.size };
  },
});
