import { commands as actor } from './commands/actor.ts';
import { commands as agents } from './commands/agents.ts';
import { commands as archive } from './commands/archive.ts';
import { commands as ask } from './commands/ask.ts';
import { commands as attach } from './commands/attach.ts';
import { commands as event } from './commands/automation/event.ts';
import { commands as schedule } from './commands/automation/schedule.ts';
import { commands as secret } from './commands/automation/secret.ts';
import { commands as subscription } from './commands/automation/subscription.ts';
import { commands as channel } from './commands/channel.ts';
import { commands as chat } from './commands/chat.ts';
import { commands as completion } from './commands/completion.ts';
import { commands as demo } from './commands/demo.ts';
import { commands as dispatch } from './commands/dispatch.ts';
import { commands as dlq } from './commands/dlq.ts';
import { commands as doctor } from './commands/doctor.ts';
import { commands as editActor } from './commands/edit-actor.ts';
import { commands as explain } from './commands/explain.ts';
import { commands as host } from './commands/host.ts';
import { commands as init } from './commands/init.ts';
import { commands as log } from './commands/log.ts';
import { commands as logs } from './commands/logs.ts';
import { commands as mcp } from './commands/mcp.ts';
import { commands as memory } from './commands/memory.ts';
import { commands as open } from './commands/open.ts';
import { commands as pause } from './commands/pause.ts';
import { commands as read } from './commands/read.ts';
import { commands as replies } from './commands/replies.ts';
import { commands as search } from './commands/search.ts';
import { commands as send } from './commands/send.ts';
import { commands as service } from './commands/service.ts';
import { commands as setActor } from './commands/set-actor.ts';
import { commands as status } from './commands/status.ts';
import { commands as sync } from './commands/sync.ts';
import { commands as cancel } from './commands/talk/cancel.ts';
import { commands as cost } from './commands/talk/cost.ts';
import { commands as forget } from './commands/talk/forget.ts';
import { commands as inbox } from './commands/talk/inbox.ts';
import { commands as key } from './commands/talk/key.ts';
import { commands as outbox } from './commands/talk/outbox.ts';
import { commands as reply } from './commands/talk/reply.ts';
import { commands as watch } from './commands/talk/watch.ts';
import { commands as thread } from './commands/thread.ts';
import { commands as uninstall } from './commands/uninstall.ts';
import { commands as upgrade } from './commands/upgrade.ts';
import { commands as web } from './commands/web.ts';
import { commands as webToken } from './commands/web-token.ts';
import { commands as checkout } from './commands/work/checkout.ts';
import { commands as compact } from './commands/work/compact.ts';
import { commands as decide } from './commands/work/decide.ts';
import { commands as giveActor } from './commands/work/give-actor.ts';
import { commands as guide } from './commands/work/guide.ts';
import { commands as permission } from './commands/work/permission.ts';
import { commands as sandbox } from './commands/work/sandbox.ts';
import { commands as session } from './commands/work/session.ts';
import { commands as skill } from './commands/work/skill.ts';
import { commands as worktree } from './commands/work/worktree.ts';
import type { CommandSpec } from './command/spec.ts';

/**
 * The commands, subcommands in the order in which help shows them. The build puts only what users see of a command
 * here, and loads its file when it runs, so that a list of all commands costs a short one nothing.
 */
export const COMMANDS: readonly CommandSpec[] = [
  [init, send, ask, reply, cancel, inbox, decide, replies, log, read, status, explain],
  [dlq, outbox, cost, thread, search, agents, guide, watch, channel, actor, editActor],
  [giveActor, setActor, host, key, chat, memory, compact, skill, archive, doctor],
  [sync, forget, pause, worktree, sandbox, session, schedule, subscription, event],
  [secret, dispatch, service, logs, open, attach, web, webToken, checkout, upgrade, demo, mcp],
  [permission, completion, uninstall],
].flat(2);
