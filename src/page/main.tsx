import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme } from './shell/theme.ts';
import './styles/base.css';
import './styles/shell.css';
import './styles/now.css';
import './styles/markdown.css';
import './styles/messages.css';
import './styles/signed.css';
import './styles/compose.css';
import './styles/files.css';
import './styles/extras.css';
import './styles/flow.css';
import './styles/low.css';
import './styles/contrast.css';

applyTheme();
const page = document.getElementById('page');
if (page !== null) render(<App />, page);
