import type { Language } from './themes.ts';

/**
 * What people write, and the replies. `>` is the traveller, `<` the agency's assistant, `=` a team member; [image],
 * [audio], [document] and [template] are message types. A script that follows another one begins weeks later.
 */
export type Script = {
  part: 'opening' | 'sequel' | 'ending' | 'return';
  /** The only country where people write like this. */
  country?: string;
  text: string;
};

export const scripts: Record<Language, readonly Script[]> = {
  es: [
    {
      part: 'opening',
      text: `
> Hola, buenas tardes 👋 vi su publicación de {trip}. ¿Me pasan información?
< ¡Hola{hello}! Con gusto. {trip} sale desde {price} e incluye hospedaje, traslados y guía. ¿Para cuántas personas sería?
> Seríamos {pax}
> y la idea es viajar alrededor del {date}
< Perfecto. ¿Ya tienen vuelos o los incluimos en la propuesta?
> Inclúyanlos por favor, saliendo con una maleta documentada cada quien
= ¡Qué tal{hello}! Soy {seller}, yo les armo la propuesta. ¿Prefieren hotel céntrico o algo más tranquilo?
> Tranquilo, pero que se pueda salir a cenar caminando
= Anotado. Mañana antes de mediodía la tienen por aquí.
> Mil gracias 🙌`,
    },
    {
      part: 'opening',
      text: `
> Buen día, ¿tienen lugar para {trip}? Es para mi aniversario
< ¡Felicidades{hello}! Sí, tenemos salidas. ¿Qué fecha les queda mejor?
> {date}, pero tengo flexibilidad de unos días
< Con flexibilidad conviene salir entre semana: baja cerca de 12 %. ¿Le pido a una asesora que lo cotice?
> Sí, y que sea sorpresa, por favor no llamen al otro número
= Hola{hello}, soy {seller}. Quedó anotado: solo por este medio. ¿Habitación con vista?
> Con vista y cama king
> [audio] Nota de voz (0:24): que si se puede una cena especial la segunda noche, algo discreto, sin pastel ni mariachis
= Claro que se puede. Reservo mesa y les mando el menú con la cotización.
> Perfecto, espero`,
    },
    {
      part: 'opening',
      text: `
> hola cuanto cuesta el viaje de {place}
< ¡Hola! {trip} está desde {price}. ¿Cuántas personas viajan y en qué fechas?
> {pax} adultos y un bebé
> el bebé paga?
< Los menores de 2 años no pagan hospedaje; solo una tarifa de seguro. ¿Le preparo una cotización?
> ok
> a meses se puede?
< Sí, hasta 6 meses sin intereses con tarjetas participantes.
> va, mándeme la info`,
    },
    {
      part: 'opening',
      country: 'Argentina',
      text: `
> Che, buenas. Queremos hacer {trip} en familia, somos {pax}
< ¡Hola{hello}! Qué lindo plan. ¿Qué edades tienen los chicos?
> 7 y 10. El más chico se marea en lancha, aviso
< Gracias por contarlo: hay una opción por tierra para ese día. ¿Salen alrededor del {date}?
> Sí, cuando arrancan las vacaciones
= Hola{hello}, {seller} por acá. Les paso dos opciones, una con auto de alquiler y otra con traslados. ¿Manejan en ruta?
> Manejo yo sin drama
> [image] Foto de los pasaportes de los cuatro
= Recibidos. Los datos quedan guardados solo para la reserva. Hoy a la noche te mando todo.
> Genial, gracias!!`,
    },
    {
      part: 'opening',
      text: `
> Buenas, somos compañeros de oficina y queremos un viaje de grupo, unas {group} personas. ¿Manejan {place}?
< ¡Hola{hello}! Sí. Para grupos tenemos tarifa especial y factura. ¿Van con presupuesto definido?
> Como {price} por persona
= Hola, soy {seller}, coordino grupos. Con eso alcanza si viajan de domingo a jueves. ¿Les sirve?
> Nos sirve. ¿Qué necesitan para bloquear lugares?
= Lista de nombres y un anticipo del 20 %. Les mando el contrato.
= [document] Contrato de grupo.pdf
> Lo reviso con administración y confirmo el lunes`,
    },
    {
      part: 'sequel',
      text: `
< [template] Hola{hello}, ¿siguen pensando en {trip}? Quedan pocos lugares para el {date}.
> Sí, perdón, se me juntó todo en el trabajo
> ¿Sigue el mismo precio?
= Hola{hello}, {seller} de nuevo. El hotel subió un poco pero te respeto {price} hasta el viernes.
> ¿Y si quito una noche?
= Baja, pero se pierde el traslado incluido; conviene dejarla.
> Ok, dejémosla. ¿Me mandas otra vez la cotización?
= [document] Cotización actualizada.pdf
> Recibida 👍`,
    },
    {
      part: 'sequel',
      text: `
> Hola, ya vi la cotización. Dos dudas: ¿el seguro cubre cancelación? y ¿el guía habla español?
< ¡Hola{hello}! El guía habla español todo el recorrido. La cancelación se agrega por separado; le paso el detalle.
= El seguro con cancelación suma cerca del 4 %. Cubre enfermedad propia o de familiar directo.
> Agrégalo
= Listo, ya quedó en la nueva versión. ¿Apartamos?
> Déjame platicarlo hoy en la noche con mi esposo
= Claro. Te escribo mañana.`,
    },
    {
      part: 'ending',
      text: `
> Ya quedó el pago, va el comprobante
> [image] Comprobante de transferencia
= ¡Recibido{hello}! Ya está confirmado: {trip}, {pax} viajeros, salida {date}.
= [document] Voucher y asistencia al viajero.pdf
> ¿A qué hora pasan por nosotros al aeropuerto?
= El chofer los espera con un letrero; el dato exacto va en el voucher y se los recuerdo dos días antes.
> Excelente, qué emoción 🎉
= ¡Buen viaje! Cualquier cosa, este mismo chat, a cualquier hora.`,
    },
    {
      part: 'return',
      text: `
> Hola, ya regresamos. Todo increíble, el guía un diez
< ¡Qué gusto leer eso{hello}! ¿Nos cuenta qué mejoraríamos?
> Solo que el desayuno del segundo hotel era muy justo
= Gracias por decirlo, ya se lo pasé al hotel. ¿Le podemos mandar ideas para el próximo?
> Sí, algo con frío para variar jaja`,
    },
  ],
  pt: [
    {
      part: 'opening',
      text: `
> Oi, boa tarde! Vi {trip} no Instagram de vocês. Ainda tem vaga?
< Oi{hello}! Tem sim 😊 Sai a partir de {price}. Quantas pessoas vão?
> Vamos em {pax}
> mais ou menos no dia {date}
< Ótimo. Querem o aéreo incluído ou já têm passagem?
> Inclui, por favor, saindo de São Paulo
= Oi{hello}, aqui é {seller}. Vou montar duas opções, uma pousada pé na areia e outra no centrinho. Pode ser?
> Pode! Prefiro a pousada
= Fechado, te mando amanhã cedo.
> Obrigada, fico no aguardo`,
    },
    {
      part: 'opening',
      text: `
> Bom dia, quanto fica {trip} para {pax}?
< Bom dia{hello}! A partir de {price}. Tem crianças no grupo?
> Uma de 4 anos e um bebê
< Até 2 anos não paga, e de 3 a 6 tem 50 % no hotel. Posso passar para um consultor?
> Pode sim
= Olá{hello}, {seller} da Rutas del Sur. Já separei hotel com berço e recreação. Parcelamos em até 10 vezes.
> No Pix tem desconto?
= Tem, 5 %.
> [audio] Mensagem de voz (0:18): perguntando se dá para chegar um dia antes por causa do horário do voo
= Dá sim, acrescento uma diária e te aviso o valor.`,
    },
    {
      part: 'opening',
      text: `
> oi, vocês fazem lua de mel em {place}?
< Fazemos sim, parabéns! 💛 Para quando seria?
> {date}, uma semana
> o orçamento é apertado rs
= Oi{hello}! Sou {seller}. Na baixa temporada fica ótimo e ainda sobra para um jantar especial. Te mostro?
> Mostra!
= [image] Varanda do quarto com vista para o mar
> Gente, que lindo. Quero
= Vou reservar sem custo por 48 horas enquanto vocês decidem.`,
    },
    {
      part: 'opening',
      text: `
> Boa noite. Somos um grupo da paróquia, umas {group} pessoas, ritmo tranquilo. O que indicam?
< Boa noite{hello}! Para esse ritmo indicamos {trip}. Alguém tem dificuldade para caminhar?
> Duas senhoras usam bengala
= Boa noite, {seller} falando. Trocamos uma das trilhas por passeio de barco e o hotel tem elevador.
> Maravilha. E quanto sai por pessoa?
= Perto de {price} com tudo. O coordenador não paga a partir de vinte pessoas.
> Vou levar na reunião de domingo e dou retorno`,
    },
    {
      part: 'sequel',
      text: `
< [template] Oi{hello}, ainda pensando em {trip}? As vagas do dia {date} estão acabando.
> Oi! Sim, desculpa a demora
> Conseguimos mudar para a semana seguinte?
= Oi{hello}, {seller} aqui. Conseguimos, e o valor fica em {price}.
> Subiu um pouco né
= Foi o aéreo. Se emitirmos hoje eu seguro esse preço.
> Tá, manda o contrato
= [document] Contrato e roteiro.pdf
> Recebido, assino hoje à noite`,
    },
    {
      part: 'sequel',
      text: `
> Oi, vi o orçamento. O passeio de barco está incluído nos dois dias?
< Oi{hello}! Está incluído no segundo dia; no primeiro é opcional.
> Queria nos dois
= Incluí. Atualizei o orçamento e o valor por pessoa quase não mudou.
> Perfeito, vou mostrar para a turma`,
    },
    {
      part: 'ending',
      text: `
> Pix feito!
> [image] Comprovante do Pix
= Recebido{hello}! Reserva confirmada: {trip}, {pax} pessoas, saída {date}.
= [document] Voucher da viagem.pdf
> Precisa de vacina de febre amarela?
= É recomendada, tomar pelo menos dez dias antes. Mando a lista do que levar amanhã.
> Obrigada, vocês são demais 💚`,
    },
    {
      part: 'return',
      text: `
> Voltamos! Foi a melhor viagem da nossa vida
< Que alegria{hello}! Posso pedir uma avaliação rapidinha?
> Claro, dez para o guia e nove para o hotel, o chuveiro era fraquinho
= Anotado e repassado. Na próxima já sei onde não colocar vocês rs
> Já estamos pensando na próxima 😂`,
    },
  ],
  en: [
    {
      part: 'opening',
      text: `
> Hi there, I came across {trip} and would love some details
< Hi{hello}! Happy to help. It starts at {price}. How many travellers, and when?
> {pax} of us, around {date}
> one vegetarian, if that matters
< Noted, no problem at all. Shall I pass you to a trip designer?
> Yes please
= Hello{hello}, {seller} here. Do you prefer a private guide or joining a small group?
> Small group is fine as long as it really is small
= Ten at most, usually six. I will send an itinerary tomorrow morning your time.
> Sounds great, thanks!`,
    },
    {
      part: 'opening',
      text: `
> Hello. I photograph wildlife and travel with about 15 kg of gear. Is {trip} suitable?
< Hello{hello}! Yes, boats have dry storage and charging. May I ask your dates?
> {date}, give or take a week
= Hi{hello}, this is {seller}. That is the best light of the year there. I can hold a boat with three photographers instead of six.
> Please do. What is the supplement?
= About 15 % on {price}. I will put both versions in the quote.
> Perfect`,
    },
    {
      part: 'opening',
      text: `
> Do you do airport pickup in {place}?
< We do, it is included in every package. Are you looking at {trip}?
> Yes for {pax}. Landing late at night
= Hi, {seller} here. Late is fine, the driver tracks your flight. I would add one night near the airport.
> Makes sense, can you quote it that way?
= On its way today.`,
    },
    {
      part: 'sequel',
      text: `
< [template] Hi{hello}, are you still considering {trip}? A few places are left for {date}.
> We are! Just waiting for time off to be approved
= No rush, I extended the hold until Friday.
> You are the best. Is the price still {price}?
= It is.
= [document] Updated quote.pdf
> Got it, thank you`,
    },
    {
      part: 'sequel',
      text: `
> Quick question about the quote: are park fees included?
< They are, for every park on the itinerary.
> And tips?
= Those are up to you. We suggest a range in the travel notes.
> Great, let me check with my partner`,
    },
    {
      part: 'ending',
      text: `
> Deposit sent, receipt attached
> [image] Bank transfer receipt
= Received, thank you{hello}! {trip} for {pax} on {date} is confirmed.
= [document] Booking confirmation.pdf
> Do we need plug adapters?
= Type A, same as the US. The packing list is on page two.
> Brilliant`,
    },
    {
      part: 'return',
      text: `
> Home again. Best trip we have taken, and the guide was outstanding
< So glad to hear it{hello}! Anything we should do better?
> The second hotel was a bit noisy at night
= Thank you, I passed it on and asked for the garden side from now on. Shall I send ideas for next year?
> Please, somewhere with mountains`,
    },
  ],
};
