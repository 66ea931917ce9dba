import { CallsPage } from "../page/CallsPage.tsx";
import { start } from "../page/start.tsx";

void start(CallsPage);
