import { describe, expect, test } from 'vitest';
import { ExecutionTrace, traceEvent, Tracer } from '../../../src/core/domain/trace.ts';

const event = traceEvent('step_start', { step: 'A', at: 1 });
const eventJson = { ...event, timestamp: '1970-01-01T00:00:01.000Z' };

describe('the spans of a trace', () => {
  test('nest, and events belong to the innermost open one', () => {
    const tracer = new Tracer();
    tracer.start({ name: 'outer', at: 0 });
    tracer.emit(event);
    tracer.start({ name: 'inner', at: 1 });
    tracer.emit(event);
    tracer.emit(event);
    tracer.end(2);
    tracer.emit(event);
    tracer.end(3, { status: 'done' });
    const [outer, ...others] = tracer.finalize(9);
    expect(others).toEqual([]);
    expect(outer).toMatchObject({ name: 'outer', startTime: 0, endTime: 3, metadata: { status: 'done' }, events: [event, event] });
    expect(outer?.children).toMatchObject([{ name: 'inner', startTime: 1, endTime: 2, events: [event, event] }]);
  });

  test('drop events without a span, and ignore an end without a beginning', () => {
    const tracer = new Tracer();
    tracer.end(1);
    tracer.emit(event);
    expect(tracer.finalize(2)).toEqual([]);
  });

  test('that are open are closed in the end', () => {
    const tracer = new Tracer();
    const outer = tracer.start({ name: 'outer', at: 0 });
    tracer.start({ name: 'inner', at: 1 });
    tracer.finalize(5);
    expect([outer.endTime, outer.children[0]?.endTime]).toEqual([5, 5]);
  });

  test('may be parallel, each with its own events', () => {
    const tracer = new Tracer();
    const one = tracer.start({ name: 'one', at: 0 }, null);
    const two = tracer.start({ name: 'two', at: 0 }, null);
    tracer.emit(event, one);
    tracer.end(3, {}, one);
    tracer.emit(event, two);
    expect(tracer.finalize(4).map(({ name, events, endTime }) => [name, events.length, endTime])).toEqual([
      ['one', 1, 3],
      ['two', 1, 4],
    ]);
  });
});

describe('a trace as JSON', () => {
  test('has the names of AXON, counts the events of all spans, and leaves out empty fields', () => {
    const tracer = new Tracer();
    tracer.start({ name: 'unit:a', at: 10, metadata: { persona: 'p' } });
    tracer.emit(event);
    tracer.start({ name: 'forEach:B', at: 10.5 });
    tracer.emit(event);
    const trace = new ExecutionTrace({ programName: 'p', backendName: 'm', startTime: 10, endTime: 11.25, spans: tracer.finalize(11.25) });
    expect(JSON.parse(JSON.stringify(trace))).toEqual({
      program_name: 'p',
      backend_name: 'm',
      start_time: '1970-01-01T00:00:10.000Z',
      duration_ms: 1250,
      total_events: 2,
      end_time: '1970-01-01T00:00:11.250Z',
      spans: [
        {
          name: 'unit:a',
          start_time: '1970-01-01T00:00:10.000Z',
          duration_ms: 1250,
          events: [eventJson],
          metadata: { persona: 'p' },
          end_time: '1970-01-01T00:00:11.250Z',
          children: [
            {
              name: 'forEach:B',
              start_time: '1970-01-01T00:00:10.500Z',
              duration_ms: 750,
              events: [eventJson],
              end_time: '1970-01-01T00:00:11.250Z',
            },
          ],
        },
      ],
    });
  });
});
