import './runtime.js';
import { setFlagsFromString } from 'node:v8';

// After a full collection V8 lets its heap grow by little, and counts the buffers of responses. Without this, it then collects all
// ten times a second while lists are asked for: docs/performance.md.
setFlagsFromString('--heap-growing-percent=100');

await import('./server.ts');
