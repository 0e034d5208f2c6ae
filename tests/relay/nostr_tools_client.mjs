// A client on nostr-tools: publishes, asks, follows, is refused, proves its key, counts.
import { Relay, useWebSocketImplementation } from "nostr-tools/relay";
import { finalizeEvent, generateSecretKey, getPublicKey } from "nostr-tools/pure";
import WebSocket from "ws";

useWebSocketImplementation(WebSocket);
const key = generateSecretKey();
const now = Math.floor(Date.now() / 1000);
const relay = await Relay.connect(process.env.RELAY);
const other = await Relay.connect(process.env.RELAY);
const topic = `t${Math.random()}`;
const made = (kind, content, at = now) =>
  finalizeEvent({ kind, created_at: at, tags: [["t", topic], ["param", "a", "b c"]], content }, key);

const first = made(5932, "Grüße, \"Welt\"\n");
await relay.publish(first);
console.log("published");

const heard = [];
let live;
const wanted = new Promise((resolve) => (live = resolve));
await new Promise((resolve) =>
  other.subscribe([{ "#t": [topic] }], {
    onevent: (event) => {
      heard.push(event);
      if (heard.length === 2) live();
    },
    oneose: resolve,
  }),
);
if (heard.length !== 1 || heard[0].id !== first.id || heard[0].content !== first.content) throw new Error("not found");
console.log("found");

const second = made(7000, "processing");
await relay.publish(second);
await wanted;
if (heard[1].id !== second.id) throw new Error("another event");
console.log("live");

await relay.publish(made(1, "too late", now + 100000)).then(
  () => { throw new Error("it was taken"); },
  (refusal) => { if (!String(refusal).includes("invalid")) throw refusal; },
);
console.log("refused");

await relay.auth(async (draft) => finalizeEvent(draft, key));
console.log("proven");

if ((await relay.count([{ authors: [getPublicKey(key)] }], {})) !== 2) throw new Error("miscounted");
console.log("counted");
process.exit(0);
