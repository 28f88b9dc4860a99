import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';
import type { ReadersReply, ReadersRequest, ReadersSetting } from '../stream/served/serving-messages.ts';
import { StreamReader } from '../stream/served/stream-reader.ts';

/** Readers of the streams of a service, in a process apart from it. */

const { url } = readSetting<ReadersSetting>();
let opened: StreamReader[] = [];
answerRequests<ReadersRequest, ReadersReply>({
  open: async ({ runIds, readers }) => {
    opened = Array.from({ length: readers }, (_, index) => new StreamReader(`${url}/v1/runs/${runIds[index % runIds.length]}/stream`));
    await Promise.all(opened.map(({ waiting }) => waiting));
    return { type: 'opened' };
  },
  ends: async () => {
    await Promise.all(opened.map(({ ended }) => ended));
    return {
      type: 'ended',
      eventDelays: opened.flatMap(({ eventDelays }) => eventDelays),
      deltaDelays: opened.flatMap(({ deltaDelays }) => deltaDelays),
      events: opened.map(({ events }) => events),
    };
  },
  open_ones: () => ({ type: 'open_ones', readers: opened.filter(({ isOpen }) => isOpen).length }),
  stop: endAfter(),
});
