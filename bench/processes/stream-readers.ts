import type { ReadersReply, ReadersRequest, ReadersSetting } from '../stream/served/serving-messages.ts';
import { StreamReader } from '../stream/served/stream-reader.ts';

/** Readers of the streams of a service, in a process apart from it. Ends with the process that started it. */

const { url } = JSON.parse(process.argv[2] ?? '') as ReadersSetting;
let opened: StreamReader[] = [];
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
process.on('SIGINT', () => undefined);
process.on('message', (request: ReadersRequest) => void serve(request));
reply({ type: 'ready' });

async function serve(request: ReadersRequest): Promise<void> {
  switch (request.type) {
    case 'open': {
      const { runIds, readers } = request;
      opened = Array.from({ length: readers }, (_, index) => new StreamReader(`${url}/v1/runs/${runIds[index % runIds.length]}/stream`));
      await Promise.all(opened.map(({ waiting }) => waiting));
      return reply({ type: 'opened' });
    }
    case 'ends':
      await Promise.all(opened.map(({ ended }) => ended));
      return reply({
        type: 'ended',
        eventDelays: opened.flatMap(({ eventDelays }) => eventDelays),
        deltaDelays: opened.flatMap(({ deltaDelays }) => deltaDelays),
        events: opened.map(({ events }) => events),
      });
    case 'open_ones':
      return reply({ type: 'open_ones', readers: opened.filter(({ isOpen }) => isOpen).length });
    case 'stop':
      process.exit();
  }
}

function reply(message: ReadersReply): void {
  process.send?.(message);
}
